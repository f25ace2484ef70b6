/** Which pages and names may reach the server: decided from the headers, before anything else of a request is read. */
import type { IncomingMessage } from "node:http";
import { listOfText, type OptionRule } from "@claimcheck/core";
import { localhostAllowedHostnames, validateHostHeader, validateOriginHeader } from "@modelcontextprotocol/server";

export interface GuardOptions {
  /** Host names, without port, that a request's `Host` may carry. Default: loopback's, and the address listened on. */
  allowedHosts?: readonly string[];
  /** Host names that a request's `Origin` may carry; a request without `Origin` passes. Default: as `allowedHosts`. */
  allowedOrigins?: readonly string[];
}

/** As URLs have it: an IPv6 address in brackets. */
const HOST_NAME = /^(\[[^\]\s]+\]|[^\s/:[\]]+)$/;

/** An origin or an address with a port would be a name that no request ever has. */
export const listOfHostNames: OptionRule = {
  what: "a list of host names without scheme and port, such as app.example",
  takes: (value) => listOfText.takes(value) && (value as string[]).every((name) => HOST_NAME.test(name)),
};

export class HttpGuard {
  readonly #hosts: string[];
  readonly #origins: string[];

  constructor(options: GuardOptions, listenHost: string) {
    this.#hosts = lowerCase(options.allowedHosts ?? [...localhostAllowedHostnames(), listenHost]);
    this.#origins = lowerCase(options.allowedOrigins ?? this.#hosts);
  }

  /** Why the request is not let in; `undefined` when it is. */
  refusalOf({ headers }: IncomingMessage): string | undefined {
    const host = validateHostHeader(headers.host, this.#hosts);
    if (!host.ok) return host.message;
    const origin = validateOriginHeader(headers.origin, this.#origins);
    return origin.ok ? undefined : origin.message;
  }
}

/** As the names of a request are once they are read as those of a URL. */
function lowerCase(names: readonly string[]): string[] {
  return names.map((name) => name.toLowerCase());
}
