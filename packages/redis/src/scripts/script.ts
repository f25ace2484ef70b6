/** A script that runs on the server: nothing else happens there meanwhile, and other clients see all of it or nothing. */
import { createHash } from "node:crypto";

export interface Script {
  readonly lua: string;
  /** By which the server knows it once it has seen it. */
  readonly sha1: string;
}

export function script(lua: string): Script {
  return { lua, sha1: createHash("sha1").update(lua).digest("hex") };
}
