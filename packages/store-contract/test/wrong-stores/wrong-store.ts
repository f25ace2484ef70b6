import type { Backend, PlainStore } from "../plain-store.js";

/** A store that is wrong in one way: a mistake that stores have been seen to make, and nothing more. */
export interface WrongStore {
  /** The mistake. */
  name: string;
  store: new (backend: Backend) => PlainStore;
  /** The titles of exactly the cases that fail. */
  fails: readonly string[];
}
