// What this package promises. Adding a line here is a decision.
export { SqliteStore, type SqliteStoreOptions } from "./sqlite-store.js";
