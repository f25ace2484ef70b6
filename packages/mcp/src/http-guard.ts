/** Who may come in at all: decided from the request line and the headers, before a byte of the body is read. */
import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import {
  type AuthInfo,
  localhostAllowedHostnames,
  validateHostHeader,
  validateOriginHeader,
} from "@modelcontextprotocol/server";

export interface GuardOptions {
  /** The bearer token that every request must carry; compared in constant time. */
  token?: string;
  /** Verifies a bearer token otherwise; `null` refuses it. What it answers is the caller's identity. */
  verifyToken?: (token: string) => Promise<AuthInfo | null>;
  /** Serve whoever can reach the port. Must be asked for: without it, `token` or `verifyToken` is needed. */
  noAuth?: boolean;
  /** Host names, without port, that a request's `Host` may carry. Default: loopback's, and the address listened on. */
  allowedHosts?: readonly string[];
  /** Host names that a request's `Origin` may carry; a request without `Origin` passes. Default: as `allowedHosts`. */
  allowedOrigins?: readonly string[];
}

export type Verdict = { authInfo?: AuthInfo } | { status: 401 | 403; message: string };

/** The client id of whoever holds the one token there is: all of them are one principal. */
const TOKEN_HOLDER = "static-token";

export class HttpGuard {
  readonly #hosts: string[];
  readonly #origins: string[];
  readonly #verify: ((token: string) => Promise<AuthInfo | null>) | null;

  /** @throws when it is not said who may come in */
  constructor(options: GuardOptions, listenHost: string) {
    this.#hosts = [...(options.allowedHosts ?? [...localhostAllowedHostnames(), listenHost])];
    this.#origins = [...(options.allowedOrigins ?? this.#hosts)];
    this.#verify = verifierOf(options);
  }

  async check(request: IncomingMessage): Promise<Verdict> {
    const host = validateHostHeader(request.headers.host, this.#hosts);
    if (!host.ok) return { status: 403, message: host.message };
    const origin = validateOriginHeader(request.headers.origin, this.#origins);
    if (!origin.ok) return { status: 403, message: origin.message };
    return this.#verify === null ? {} : this.#authenticate(this.#verify, request.headers.authorization);
  }

  async #authenticate(
    verify: (token: string) => Promise<AuthInfo | null>,
    authorization: string | undefined,
  ): Promise<Verdict> {
    const token = /^Bearer +(\S+) *$/i.exec(authorization ?? "")?.[1];
    if (token === undefined) return { status: 401, message: "A bearer token is needed: Authorization: Bearer …" };
    const authInfo = await verify(token);
    return authInfo === null ? { status: 401, message: "The bearer token is not valid here." } : { authInfo };
  }
}

function verifierOf({ token, verifyToken, noAuth }: GuardOptions): HttpGuardVerifier {
  const given = [token, verifyToken, noAuth || undefined].filter((option) => option !== undefined).length;
  if (given !== 1) throw new TypeError("Say who may come in with exactly one of token, verifyToken and noAuth: true.");
  if (verifyToken !== undefined) return verifyToken;
  if (token === undefined) return null;
  if (!/^[\x21-\x7e]+$/.test(token))
    throw new TypeError("token must be a non-empty string of visible ASCII characters.");
  const expected = digest(token);
  return async (presented) =>
    timingSafeEqual(digest(presented), expected) ? { token: presented, clientId: TOKEN_HOLDER, scopes: [] } : null;
}

type HttpGuardVerifier = ((token: string) => Promise<AuthInfo | null>) | null;

/** Digests have one length, which is what lets two tokens of any length be compared in constant time. */
function digest(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}
