/** Lets in who brings a token that proves something and allows what is asked; tells everybody else what was missing. */
import type { AuthInfo } from "@modelcontextprotocol/server";
import {
  type Challenge,
  challengeHeader,
  checkResource,
  metadataPaths,
  metadataUrl,
  type ResourceMetadata,
  type ResourceServer,
} from "./resource-server.js";
import { Scopes } from "./scopes.js";

/** What a token proves, or why it does not; `null` without a reason. Rejects when that cannot be found out now. */
export type TokenVerifier = (token: string) => Promise<AuthInfo | { refused: string } | null>;

/** Why a request is not served, and what would be right. */
export interface Refusal {
  status: 401 | 403;
  message: string;
  /** The value of `WWW-Authenticate`. */
  challenge: string;
}

export interface BearerGateOptions {
  verify: TokenVerifier;
  /** Where the server listens. */
  url: string;
  server: ResourceServer;
}

const NEEDED = "A bearer token is needed: Authorization: Bearer …";
const INVALID = "The bearer token is not valid here.";

export class BearerGate {
  readonly #verify: TokenVerifier;
  readonly #scopes: Scopes;
  readonly #metadata: ResourceMetadata | null;
  readonly #metadataUrl: string | undefined;
  readonly #metadataPaths: ReadonlySet<string>;

  /** @throws TypeError for a resource or scopes that cannot be */
  constructor({ verify, url, server }: BearerGateOptions) {
    const resource = checkResource(server.resource ?? url);
    this.#verify = verify;
    this.#scopes = new Scopes(server.scopes);
    this.#metadata = metadataOf(resource, server.authorizationServers ?? [], this.#scopes.supported);
    this.#metadataUrl = this.#metadata === null ? undefined : metadataUrl(resource);
    this.#metadataPaths = this.#metadata === null ? new Set() : metadataPaths(resource, url);
  }

  /** What is served at `path` to whoever asks: the way to a token has to be known without one. */
  metadataAt(path: string): ResourceMetadata | null {
    return this.#metadataPaths.has(path) ? this.#metadata : null;
  }

  /** Rejects when the token cannot be verified now. */
  async authenticate(authorization: string | undefined): Promise<{ authInfo: AuthInfo } | Refusal> {
    const token = /^Bearer +(\S+) *$/i.exec(authorization ?? "")?.[1];
    if (token === undefined) return this.#refuse(401, NEEDED, { scopes: this.#scopes.always });
    const verified = await this.#verify(token);
    if (verified === null) return this.#invalid(INVALID);
    if ("refused" in verified) return this.#invalid(verified.refused);
    if (isPast(verified.expiresAt)) return this.#invalid("The bearer token has expired.");
    return this.#lacking(this.#scopes.always, verified) ?? { authInfo: verified };
  }

  /** Whether a request of this body may be made with what was proved; `null` when it may. */
  refusalOf(body: unknown, authInfo: AuthInfo | undefined): Refusal | null {
    return this.#lacking(this.#scopes.neededBy(body), authInfo);
  }

  #lacking(needed: readonly string[], authInfo: AuthInfo | undefined): Refusal | null {
    const lacking = needed.filter((scope) => authInfo?.scopes.includes(scope) !== true);
    if (lacking.length === 0) return null;
    const message = `The bearer token does not allow this; it lacks the scope ${lacking.join(" ")}.`;
    // The whole set: a client that asks for a new token asks for what it is told here, and for nothing else.
    return this.#refuse(403, message, { error: "insufficient_scope", description: message, scopes: needed });
  }

  #invalid(message: string): Refusal {
    const scopes = this.#scopes.always;
    return this.#refuse(401, message, { error: "invalid_token", description: message, scopes });
  }

  #refuse(status: 401 | 403, message: string, challenge: Challenge): Refusal {
    return { status, message, challenge: challengeHeader({ ...challenge, metadataUrl: this.#metadataUrl }) };
  }
}

function isPast(expiresAtS: number | undefined): boolean {
  return expiresAtS !== undefined && expiresAtS * 1000 <= Date.now();
}

function metadataOf(
  resource: string,
  authorizationServers: readonly string[],
  scopes: readonly string[],
): ResourceMetadata | null {
  if (authorizationServers.length === 0) return null;
  const metadata: ResourceMetadata = {
    resource,
    authorization_servers: authorizationServers,
    bearer_methods_supported: ["header"],
  };
  return scopes.length > 0 ? { ...metadata, scopes_supported: scopes } : metadata;
}
