import { Brand } from "@claimcheck/core";

/**
 * What can go wrong between us and a Jupyter Server.
 *
 * | code | meaning |
 * | --- | --- |
 * | `invalid_address` | the server's URL, or an id or path below it, cannot be one |
 * | `unreachable` | nothing answered, or not in time |
 * | `unauthorized` | the server wants a token, or another one |
 * | `not_found` | no such kernel, session, file, ... on this server |
 * | `refused` | the server understood and said no |
 * | `server_error` | the server failed |
 * | `not_jupyter` | something answered that is no Jupyter Server |
 * | `closed` | our side has closed the connection |
 */
export type JupyterErrorCode =
  | "invalid_address"
  | "unreachable"
  | "unauthorized"
  | "not_found"
  | "refused"
  | "server_error"
  | "not_jupyter"
  | "closed";

const brand = new Brand<JupyterError>("JupyterError");

/** A failed exchange with a Jupyter Server. The message says what would be right, and never holds a token. */
export class JupyterError extends Error {
  override readonly name = "JupyterError";
  readonly code: JupyterErrorCode;
  /** The HTTP status, when the server answered with one. */
  readonly status: number | undefined;

  constructor(code: JupyterErrorCode, message: string, options: { status?: number; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.status = options.status;
    brand.mark(this);
  }

  /** Recognises the error of another copy of this package too. */
  static readonly is: (error: unknown) => error is JupyterError = brand.isOn;
}

/** What an HTTP status of the server means; `subject` names what was asked for, such as `kernel 1234`. */
export function errorOfStatus(status: number, subject: string, server: string, detail: string): JupyterError {
  const said = detail === "" ? "" : ` It said: ${detail}`;
  if (status === 401 || status === 403) {
    const message = `${server} refused ${subject} (HTTP ${status}): it wants a valid token. Check JUPYTER_TOKEN, or the token that the server printed when it started.${said}`;
    return new JupyterError("unauthorized", message, { status });
  }
  if (status === 404) {
    // The server's own endpoints say what is missing; a bare 404 may come from whatever else lives at that address.
    const hint = said || " Is this the base URL of the Jupyter Server, with its prefix such as /user/ann/?";
    return new JupyterError("not_found", `${server} has no ${subject}.${hint}`, { status });
  }
  if (status >= 500) {
    return new JupyterError("server_error", `${server} failed on ${subject} (HTTP ${status}).${said}`, { status });
  }
  return new JupyterError("refused", `${server} refused ${subject} (HTTP ${status}).${said}`, { status });
}
