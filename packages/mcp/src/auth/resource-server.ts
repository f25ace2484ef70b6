/**
 * What an OAuth resource server says of itself (RFC 9728), and how it tells a client what was wrong with its token
 * (RFC 6750): where tokens come from, what they are for, and what they must allow.
 */
import { getOAuthProtectedResourceMetadataUrl } from "@modelcontextprotocol/server";
import type { ScopeTable } from "./scopes.js";

export interface ResourceServer {
  /** The URL by which clients know this server, which tokens are made for. Default: the one it listens on. */
  resource?: string;
  /** Where clients get tokens: issuer URLs. Default: the issuer, where there is one; without any, no metadata is served. */
  authorizationServers?: readonly string[];
  /** Scopes that a request needs, by its method. Default: none. */
  scopes?: ScopeTable;
}

/** The document of RFC 9728. */
export interface ResourceMetadata {
  resource: string;
  authorization_servers: readonly string[];
  scopes_supported?: readonly string[];
  bearer_methods_supported: readonly string[];
}

const WELL_KNOWN = "/.well-known/oauth-protected-resource";

/** Where the document is, for clients to be told of. */
export function metadataUrl(resource: string): string {
  return getOAuthProtectedResourceMetadataUrl(new URL(resource));
}

/** The paths at which clients may ask: below the well-known one by the resource's path, which a proxy may have changed, and at the root. */
export function metadataPaths(...urls: string[]): ReadonlySet<string> {
  const paths = urls.map((url) => new URL(metadataUrl(url)).pathname);
  return new Set([WELL_KNOWN, ...paths]);
}

/** @throws TypeError when `resource` is no URL that tokens could be made for */
export function checkResource(resource: string): string {
  const url = URL.canParse(resource) ? new URL(resource) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.hash !== "")
    throw new TypeError(`resource must be an http(s) URL without a fragment; got ${JSON.stringify(resource)}.`);
  return resource;
}

export interface Challenge {
  error?: "invalid_token" | "insufficient_scope";
  description?: string;
  scopes?: readonly string[];
  metadataUrl?: string | undefined;
}

/** The value of `WWW-Authenticate`. */
export function challengeHeader({ error, description, scopes = [], metadataUrl }: Challenge): string {
  const params: [string, string | undefined][] = [
    ["error", error],
    ["error_description", description],
    ["scope", scopes.length > 0 ? scopes.join(" ") : undefined],
    ["resource_metadata", metadataUrl],
  ];
  const said = params.filter(([, value]) => value !== undefined).map(([name, value]) => `${name}="${value}"`);
  return said.length > 0 ? `Bearer ${said.join(", ")}` : "Bearer";
}
