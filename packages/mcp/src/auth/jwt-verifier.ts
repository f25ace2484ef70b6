/** Verifies the JWTs of one authorization server. */
import type { AuthInfo } from "@modelcontextprotocol/server";
import {
  createLocalJWKSet,
  createRemoteJWKSet,
  errors,
  type JSONWebKeySet,
  type JWTPayload,
  type JWTVerifyGetKey,
  type JWTVerifyOptions,
  jwtVerify,
} from "jose";
import type { TokenVerifier } from "./bearer-gate.js";
import type { ResourceServer } from "./resource-server.js";

export interface JwtAuth extends ResourceServer {
  /** Who makes the tokens: exactly what they say in `iss`. */
  issuer: string;
  /**
   * The keys that they are signed with: where the issuer publishes them, or the keys themselves. Published ones are kept
   * for ten minutes, and fetched anew for a token of an unknown key, at most twice a minute: a new key is taken up by itself.
   */
  jwks: string | URL | JSONWebKeySet;
  /** Whom the tokens have to be for, one of them as `aud`. Default: `resource`, a slash at its end or not. */
  audience?: string | readonly string[];
  /** Signature algorithms that are accepted; asymmetric ones alone. Default: ES256, ES384, PS256, RS256 and EdDSA. */
  algorithms?: readonly string[];
  /** How far the issuer's clock may be off, ms. Default 30 seconds. */
  clockToleranceMs?: number;
}

const DEFAULT_ALGORITHMS = ["ES256", "ES384", "PS256", "RS256", "EdDSA"] as const;
const ASYMMETRIC = /^(ES(256|384|512)|[PR]S(256|384|512)|EdDSA|Ed25519|ML-DSA-(44|65|87))$/;

/** @throws TypeError for keys from where anybody could replace them, and for algorithms that would take a public key for a secret */
export function jwtVerifier(auth: JwtAuth, resource: string): TokenVerifier {
  const key = keysOf(auth.jwks);
  const options: JWTVerifyOptions = {
    issuer: auth.issuer,
    audience: auth.audience === undefined ? withAndWithoutSlash(resource) : [auth.audience].flat(),
    algorithms: algorithmsOf(auth),
    clockTolerance: (auth.clockToleranceMs ?? 30_000) / 1000,
    // Without a subject two people behind one client could not be told apart.
    requiredClaims: ["exp", "sub"],
  };
  return async (token) => {
    try {
      const payload = await verified(token, key, options);
      const toleranceS = options.clockTolerance as number;
      return hasSubject(payload) ? authInfoOf(token, payload, toleranceS) : { refused: NOT_VALID };
    } catch (error) {
      if (isTheTokensFault(error)) return { refused: reasonOf(error) };
      throw new Error("The keys of the token issuer could not be had.", { cause: error });
    }
  };
}

/** A token need not name its key; while keys are rotated, several may fit then. */
async function verified(token: string, key: JWTVerifyGetKey, options: JWTVerifyOptions): Promise<JWTPayload> {
  try {
    return (await jwtVerify(token, key, options)).payload;
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
    for await (const candidate of error) {
      const { payload } = await jwtVerify(token, candidate, options).catch(unlessOtherKey);
      if (payload !== undefined) return payload;
    }
    throw new errors.JWSSignatureVerificationFailed();
  }
}

function unlessOtherKey(error: unknown): { payload?: undefined } {
  if (error instanceof errors.JWSSignatureVerificationFailed) return {};
  throw error;
}

function keysOf(jwks: JwtAuth["jwks"]): JWTVerifyGetKey {
  if (typeof jwks === "object" && "keys" in jwks) return createLocalJWKSet(jwks);
  if (typeof jwks !== "string" && !(jwks instanceof URL))
    throw new TypeError("jwks must be the URL of a JSON Web Key Set, or the set itself.");
  if (!URL.canParse(String(jwks))) throw new TypeError(`jwks must be a URL or a key set; got ${JSON.stringify(jwks)}.`);
  const url = new URL(jwks);
  if (url.protocol !== "https:" && !(url.protocol === "http:" && isLoopback(url.hostname)))
    throw new TypeError(`jwks must be an https URL, since whoever could change the keys could come in; got ${url}.`);
  return createRemoteJWKSet(url);
}

function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127(\.\d+){3}$/.test(hostname);
}

function algorithmsOf({ algorithms = DEFAULT_ALGORITHMS }: JwtAuth): string[] {
  const wrong = algorithms.find((algorithm) => !ASYMMETRIC.test(algorithm));
  if (wrong !== undefined || algorithms.length === 0)
    throw new TypeError(`algorithms must be asymmetric signature algorithms, such as ES256; got ${wrong ?? "none"}.`);
  return [...algorithms];
}

function withAndWithoutSlash(resource: string): string[] {
  const bare = resource.replace(/\/$/, "");
  return [bare, `${bare}/`];
}

function hasSubject({ sub }: JWTPayload): boolean {
  return typeof sub === "string" && sub !== "";
}

function authInfoOf(token: string, payload: JWTPayload, toleranceS: number): AuthInfo {
  const clientId = [payload.client_id, payload.azp].find((claim) => typeof claim === "string");
  return {
    token,
    clientId: (clientId as string | undefined) ?? "",
    scopes: scopesOf(payload),
    expiresAt: (payload.exp as number) + toleranceS,
    extra: payload,
  };
}

/** RFC 9068 has one string; some issuers have `scp`, as a string or a list. */
function scopesOf({ scope, scp }: JWTPayload): string[] {
  const claimed = scope ?? scp;
  const scopes = typeof claimed === "string" ? claimed.split(" ") : claimed;
  return Array.isArray(scopes) ? scopes.filter((each) => typeof each === "string" && each !== "") : [];
}

const NOT_VALID = "The bearer token is not valid here.";

function reasonOf(error: unknown): string {
  return error instanceof errors.JWTExpired ? "The bearer token has expired." : NOT_VALID;
}

/** Of what the library throws, the rest says that the keys could not be fetched or read. */
const OUR_SIDE: ReadonlySet<string> = new Set([
  errors.JWKSTimeout.code,
  errors.JWKSInvalid.code,
  errors.JOSEError.code,
]);

function isTheTokensFault(error: unknown): boolean {
  return error instanceof errors.JOSEError && !OUR_SIDE.has(error.code);
}
