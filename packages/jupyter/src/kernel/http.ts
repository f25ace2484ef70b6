/** One HTTP call to a Jupyter Server: its token, its XSRF cookie, its errors. */
import { authorization, type ServerAddress } from "./address.js";
import { errorOfStatus, JupyterError } from "./errors.js";

/** What is asked. */
export interface HttpCall {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Of {@link endpoint}. */
  url: string;
  /** What the call is about, for error messages: `kernel 1234`. */
  subject: string;
  /** Sent as JSON. */
  body?: unknown;
  timeoutMs: number;
  signal?: AbortSignal | undefined;
}

/** Calls one server, and keeps the cookie that a server without a token insists on. */
export class HttpClient {
  readonly #address: ServerAddress;
  #xsrf: string | undefined;

  constructor(address: ServerAddress) {
    this.#address = address;
  }

  /**
   * The answer's JSON, or undefined where the server sends no content.
   * @throws JupyterError
   */
  async call(call: HttpCall): Promise<unknown> {
    const first = await this.#send(call);
    const missesXsrf = first.status === 403 && first.body.includes("_xsrf");
    const answer = missesXsrf && (await this.#fetchXsrf(call)) ? await this.#send(call) : first;
    return this.#read(call, answer);
  }

  async #send(call: HttpCall): Promise<Answer> {
    const signals = [AbortSignal.timeout(call.timeoutMs), ...(call.signal === undefined ? [] : [call.signal])];
    try {
      const response = await fetch(call.url, {
        method: call.method,
        headers: this.#headers(call),
        // A redirect leads to a login page or to another base URL: both are errors that can be named.
        redirect: "manual",
        signal: AbortSignal.any(signals),
        ...(call.body === undefined ? {} : { body: JSON.stringify(call.body) }),
      });
      return { status: response.status, headers: response.headers, body: await response.text() };
    } catch (cause) {
      if (call.signal?.aborted) throw cause;
      throw this.#unreachable(call, cause);
    }
  }

  #headers(call: HttpCall): Record<string, string> {
    return {
      accept: "application/json",
      ...(call.body === undefined ? {} : { "content-type": "application/json" }),
      ...authorization(this.#address),
      ...(this.#xsrf === undefined ? {} : { cookie: `_xsrf=${this.#xsrf}`, "x-xsrftoken": this.#xsrf }),
    };
  }

  /** Any page of the server sets the cookie, its error page included; a bare server has no page that is sure to exist. */
  async #fetchXsrf(call: HttpCall): Promise<boolean> {
    const page: HttpCall = { ...call, method: "GET", url: `${this.#address.baseUrl}login`, body: undefined };
    const { headers } = await this.#send(page);
    this.#xsrf = headers
      .getSetCookie()
      .map((cookie) => /^_xsrf="?([^;"]+)/.exec(cookie)?.[1])
      .find((value) => value !== undefined);
    return this.#xsrf !== undefined;
  }

  #read(call: HttpCall, answer: Answer): unknown {
    if (answer.status >= 300 && answer.status < 400) throw this.#redirected(call, answer);
    if (answer.status >= 400) {
      throw errorOfStatus(answer.status, call.subject, this.#address.baseUrl, detailOf(answer));
    }
    if (answer.body === "") return undefined;
    try {
      return JSON.parse(answer.body);
    } catch (cause) {
      throw notJupyter(`${this.#address.baseUrl} answered something else than JSON on ${call.subject}`, { cause });
    }
  }

  #redirected(call: HttpCall, answer: Answer): JupyterError {
    const target = new URL(answer.headers.get("location") ?? "", call.url);
    if (target.pathname.includes("login")) {
      return errorOfStatus(403, call.subject, this.#address.baseUrl, "a redirect to its login page");
    }
    return notJupyter(`${this.#address.baseUrl} redirects ${call.subject} to ${target.origin}${target.pathname}`);
  }

  #unreachable(call: HttpCall, cause: unknown): JupyterError {
    const timedOut = cause instanceof Error && cause.name === "TimeoutError";
    const why = timedOut ? `no answer within ${call.timeoutMs / 1000} s` : reasonOf(cause);
    const message = `No Jupyter Server can be reached at ${this.#address.baseUrl} (${call.subject}: ${why}). Is it running, and is JUPYTER_URL right?`;
    return new JupyterError("unreachable", message, { cause });
  }
}

interface Answer {
  status: number;
  headers: Headers;
  body: string;
}

/** An answer that no Jupyter Server gives. */
export function notJupyter(what: string, options: { cause?: unknown } = {}): JupyterError {
  const hint =
    "Is this the base URL of a Jupyter Server, without /lab or /tree, and with its prefix such as /user/ann/?";
  return new JupyterError("not_jupyter", `${what}. ${hint}`, options);
}

/** fetch says only "fetch failed"; what happened is in the cause. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? reasonOf(error.cause) : error.message || error.name;
}

const MAX_DETAIL_CHARACTERS = 300;

function detailOf({ body, headers }: Answer): string {
  return said(body, headers.get("content-type") ?? "").slice(0, MAX_DETAIL_CHARACTERS);
}

function said(body: string, type: string): string {
  try {
    const { message, reason } = JSON.parse(body) as { message?: unknown; reason?: unknown };
    return [message, reason].filter((part) => typeof part === "string" && part !== "").join(": ");
  } catch {
    // Of a file that is not there, the server says so in plain text that it calls JSON. A page says nothing that the status does not.
    return type.includes("json") ? body.trim() : "";
  }
}
