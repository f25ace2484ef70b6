/** How a server on HTTP finds out who asks: said once, in the option `auth`. */
import {
  aFunction,
  anything,
  checkOptions,
  durationFrom,
  listOfText,
  type OptionRules,
  someText,
} from "@claimcheck/core";
import type { AuthInfo } from "@modelcontextprotocol/server";
import { BearerGate } from "./bearer-gate.js";
import { type JwtAuth, jwtVerifier } from "./jwt-verifier.js";
import type { ResourceServer } from "./resource-server.js";
import { staticTokenVerifier } from "./static-token.js";

/** One token that every request must carry; whoever holds it is one principal. It is compared in constant time. */
export interface StaticTokenAuth {
  token: string;
}

/** Tokens that the server itself can verify, such as opaque ones by introspection. */
export interface VerifierAuth extends ResourceServer {
  /** What the token proves; `null` refuses it. A rejection says that tokens cannot be verified now. */
  verifyToken: (token: string) => Promise<AuthInfo | null>;
}

/**
 * - `"none"`: serve whoever can reach the port. It must be asked for.
 * - `{ token }`: one static token.
 * - `{ issuer, jwks, … }`: JWTs of an authorization server.
 * - `{ verifyToken, … }`: anything else.
 */
export type HttpAuth = "none" | StaticTokenAuth | JwtAuth | VerifierAuth;

/**
 * Looks at `auth`; what comes back makes the gate once it is known at which URL the server is reached.
 *
 * @throws TypeError, RangeError when it does not say who may come in, or cannot work
 */
export function prepareAuth(auth: HttpAuth | undefined): (url: string) => BearerGate | null {
  if (auth === "none") return () => null;
  const kind = kindOf(auth);
  checkOptions<HttpAuth>(`auth with ${kind}`, auth, OPTIONS[kind]);
  if (kind === "token") {
    const verify = staticTokenVerifier((auth as StaticTokenAuth).token);
    return (url) => new BearerGate({ verify, url, server: {} });
  }
  const server = auth as JwtAuth | VerifierAuth;
  // Made once beforehand, so that what is wrong with the options is said before a port is opened.
  gateOf(server, "http://localhost/");
  return (url) => gateOf(server, url);
}

function gateOf(auth: JwtAuth | VerifierAuth, url: string): BearerGate {
  if ("verifyToken" in auth) return new BearerGate({ verify: auth.verifyToken, url, server: auth });
  const verify = jwtVerifier(auth, auth.resource ?? url);
  return new BearerGate({ verify, url, server: { authorizationServers: [auth.issuer], ...auth } });
}

const SERVER: OptionRules<ResourceServer> = {
  // By BearerGate.
  resource: anything,
  authorizationServers: listOfText,
  scopes: { what: "a table of lists of scopes, by method", takes: isScopeTable },
};

const OPTIONS: {
  token: OptionRules<StaticTokenAuth>;
  verifyToken: OptionRules<VerifierAuth>;
  issuer: OptionRules<JwtAuth>;
} = {
  // By staticTokenVerifier: it is never shown.
  token: { token: anything },
  verifyToken: { ...SERVER, verifyToken: aFunction },
  // The rest by jwtVerifier.
  issuer: {
    ...SERVER,
    issuer: someText,
    jwks: anything,
    audience: anything,
    algorithms: listOfText,
    clockToleranceMs: durationFrom(0),
  },
};

function isScopeTable(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.values(value).every(listOfText.takes);
}

const KINDS = ["token", "verifyToken", "issuer"] as const;

function kindOf(auth: unknown): (typeof KINDS)[number] {
  const given = typeof auth === "object" && auth !== null ? auth : {};
  const [kind, ...others] = KINDS.filter((name) => (given as Record<string, unknown>)[name] !== undefined);
  if (kind !== undefined && others.length === 0) return kind;
  throw new TypeError(
    'Say who may come in: auth must be { token }, { issuer, jwks }, { verifyToken } or, for everybody, "none".',
  );
}
