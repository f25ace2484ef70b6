/** Whose a request is. What cannot be told is refused, never shared. */
import type { AuthInfo } from "@modelcontextprotocol/server";

/**
 * Who may see a task.
 *
 * - `"session"` (the default): the authenticated principal where there is one, else the session. A request that has
 *   neither (HTTP without authentication, outside a session, as all of 2026-07-28 are) is refused whatever needs a task.
 * - `"principal"`: the authenticated principal; without authentication everything that needs a task is refused.
 * - `"single-user"`: the server serves one person; any connection may collect.
 */
export type Ownership = "session" | "principal" | "single-user";

/** What authentication proved. All three are compared, none is ever the token or one of its changing claims. */
export interface Principal {
  issuer?: string;
  subject?: string;
  clientId?: string;
}

/** What a request shows of its sender. */
export interface Caller {
  authInfo?: AuthInfo | undefined;
  /** The session of the transport, or the one connection that there is; absent where every request stands alone. */
  sessionId?: string | undefined;
}

export interface Identity {
  /** The key that owns tasks. */
  owner: string;
  principal?: Principal;
}

export interface IdentityRules {
  ownership: Ownership;
  principalOf: (authInfo: AuthInfo) => Principal;
}

/** The identity of `caller`; `null` where the rules need one that is not there. */
export function identify(caller: Caller, { ownership, principalOf }: IdentityRules): Identity | null {
  const principal = caller.authInfo === undefined ? undefined : principalOf(caller.authInfo);
  if (ownership === "single-user") return withPrincipal(SINGLE_USER, principal);
  if (principal !== undefined) return isEmpty(principal) ? null : { owner: principalKey(principal), principal };
  if (ownership === "principal" || caller.sessionId === undefined) return null;
  return { owner: encode("session", caller.sessionId) };
}

/** Takes issuer and subject from the verified claims that a verifier left in `extra`, under their JWT or their long names. */
export function defaultPrincipalOf({ clientId, extra }: AuthInfo): Principal {
  const principal: Principal = {};
  const issuer = claim(extra, "iss") ?? claim(extra, "issuer");
  const subject = claim(extra, "sub") ?? claim(extra, "subject");
  if (issuer !== undefined) principal.issuer = issuer;
  if (subject !== undefined) principal.subject = subject;
  if (typeof clientId === "string" && clientId !== "") principal.clientId = clientId;
  return principal;
}

/** One string for one principal, and never the same one for two. */
export function principalKey({ issuer, subject, clientId }: Principal): string {
  return encode("principal", issuer ?? null, subject ?? null, clientId ?? null);
}

const SINGLE_USER = encode("single-user");

/** JSON, since joining with a separator lets two different identities meet. */
function encode(...parts: (string | null)[]): string {
  return JSON.stringify(parts);
}

/** An issuer alone is nobody: all of its users would be one. */
function isEmpty({ subject, clientId }: Principal): boolean {
  return (subject ?? clientId) === undefined;
}

function withPrincipal(owner: string, principal: Principal | undefined): Identity {
  return principal === undefined ? { owner } : { owner, principal };
}

function claim(extra: Record<string, unknown> | undefined, name: string): string | undefined {
  if (extra === undefined || !Object.hasOwn(extra, name)) return undefined;
  const value = extra[name];
  return typeof value === "string" && value !== "" ? value : undefined;
}
