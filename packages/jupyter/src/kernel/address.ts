/** Where a Jupyter Server is. The one place that builds its URLs, so that a prefix is never lost and a token never in them. */
import { JupyterError } from "./errors.js";

/** A server's base URL and its token, made by {@link serverAddress}. */
export interface ServerAddress {
  /** `http:` or `https:`, with the prefix that the server lives under and a slash at the end. No token in it. */
  readonly baseUrl: string;
  /** Empty for a server without authentication. */
  readonly token: string;
}

/**
 * Reads a server's URL as people have it: with or without a prefix (`/user/ann/`), a last slash, or the
 * `/lab?token=…` of the line that a server prints when it starts.
 * @param token wins over a token in the URL. Default: the one in the URL, else none.
 * @throws JupyterError `invalid_address`
 */
export function serverAddress(url: string, token?: string): ServerAddress {
  const parsed = parseUrl(url);
  const tokenInUrl = parsed.searchParams.get("token");
  const path = tokenInUrl === null ? parsed.pathname : parsed.pathname.replace(/\/(lab|tree)\/?$/, "/");
  return {
    baseUrl: `${parsed.origin}${path.endsWith("/") ? path : `${path}/`}`,
    token: token ?? tokenInUrl ?? "",
  };
}

/** The offending URL is not repeated: it may carry a token or a password. */
function parseUrl(url: string): URL {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined || (parsed.protocol !== "http:" && parsed.protocol !== "https:")) {
    throw new JupyterError(
      "invalid_address",
      "The Jupyter Server's URL has to be one of http or https, such as http://localhost:8888/ or https://hub.example/user/ann/.",
    );
  }
  if (parsed.username !== "" || parsed.password !== "") {
    throw new JupyterError(
      "invalid_address",
      "The Jupyter Server's URL must not hold a user name or password. Give the token in JUPYTER_TOKEN.",
    );
  }
  return parsed;
}

/**
 * The URL below the server's prefix, each segment escaped: `endpoint(address, "api", "kernels", id)`.
 * @throws JupyterError `invalid_address` for a segment that would lead to another endpoint
 */
export function endpoint(address: ServerAddress, ...segments: readonly string[]): string {
  const bad = segments.find((segment) => segment === "" || segment === "." || segment === "..");
  if (bad !== undefined) {
    throw new JupyterError("invalid_address", `"${bad}" can be no part of a path or id: "${segments.join("/")}".`);
  }
  return address.baseUrl + segments.map(encodeURIComponent).join("/");
}

/** The same for a WebSocket. */
export function socketEndpoint(address: ServerAddress, ...segments: readonly string[]): string {
  return endpoint(address, ...segments).replace(/^http/, "ws");
}

/** The header that every call carries, REST and WebSocket alike. */
export function authorization(address: ServerAddress): Record<string, string> {
  return address.token === "" ? {} : { authorization: `token ${address.token}` };
}
