/** Which pages and names may reach the server: decided from the headers, before anything else of a request is read. */
import type { IncomingMessage } from "node:http";
import { localhostAllowedHostnames, validateHostHeader, validateOriginHeader } from "@modelcontextprotocol/server";

export interface GuardOptions {
  /** Host names, without port, that a request's `Host` may carry. Default: loopback's, and the address listened on. */
  allowedHosts?: readonly string[];
  /** Host names that a request's `Origin` may carry; a request without `Origin` passes. Default: as `allowedHosts`. */
  allowedOrigins?: readonly string[];
}

export class HttpGuard {
  readonly #hosts: string[];
  readonly #origins: string[];

  constructor(options: GuardOptions, listenHost: string) {
    this.#hosts = [...(options.allowedHosts ?? [...localhostAllowedHostnames(), listenHost])];
    this.#origins = [...(options.allowedOrigins ?? this.#hosts)];
  }

  /** Why the request is not let in; `undefined` when it is. */
  refusalOf({ headers }: IncomingMessage): string | undefined {
    const host = validateHostHeader(headers.host, this.#hosts);
    if (!host.ok) return host.message;
    const origin = validateOriginHeader(headers.origin, this.#origins);
    return origin.ok ? undefined : origin.message;
  }
}
