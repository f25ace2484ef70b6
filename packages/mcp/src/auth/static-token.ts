import { createHash, timingSafeEqual } from "node:crypto";
import type { TokenVerifier } from "./bearer-gate.js";

/** The client id of whoever holds the one token there is: all of them are one principal. */
const TOKEN_HOLDER = "static-token";

/** @throws TypeError when no header can carry `token` */
export function staticTokenVerifier(token: string): TokenVerifier {
  if (typeof token !== "string" || !/^[\x21-\x7e]+$/.test(token))
    throw new TypeError("token must be a non-empty string of visible ASCII characters.");
  const expected = digest(token);
  return async (presented) =>
    timingSafeEqual(digest(presented), expected) ? { token: presented, clientId: TOKEN_HOLDER, scopes: [] } : null;
}

/** Digests have one length, which is what lets two tokens of any length be compared in constant time. */
function digest(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}
