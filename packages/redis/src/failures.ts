/** What the client's errors mean, and how they are passed on: without commands and their arguments. */

/** A command that failed. */
export class RedisFailure extends Error {
  /** `CONNECTION_LOST` when it is not known whether it was carried out; otherwise the code of the server's reply. */
  readonly code: string;

  constructor(message: string, code: string) {
    super(message);
    this.code = code;
  }
}

/** The connection broke or could not be made. Whether the command was carried out is not known. */
export function isConnectionLost(error: unknown): boolean {
  if (error instanceof RedisFailure) return error.code === "CONNECTION_LOST";
  const { name, message } = detailsOf(error);
  return /^(MaxRetriesPerRequest|ClusterAllFailed)Error$/.test(name) || BROKEN.test(message);
}

const BROKEN =
  /^(Connection is closed|Command timed out|Command aborted|Socket timeout|Stream isn't writeable|connect |read |write )/;

/** The server has not seen the script, and so has done nothing. */
export function isScriptUnknown(error: unknown): boolean {
  return error instanceof RedisFailure && error.code === "NOSCRIPT";
}

/**
 * The error for the caller. ioredis puts the command with all its arguments into its errors, and the server quotes
 * the beginning of those that it does not know.
 *
 * @param lastError what the connection said last; says more than that a command was in vain
 */
export function failureOf(error: unknown, where: string, lastError?: Error): RedisFailure {
  if (isConnectionLost(error)) {
    const { message } = detailsOf(lastError ?? error);
    return new RedisFailure(`${where}: cannot be reached (${message}).${adviceFor(message)}`, "CONNECTION_LOST");
  }
  const message = detailsOf(error).message.replace(/, with args beginning with:.*$|\.*$/s, "");
  return new RedisFailure(`${where}: ${message}.${adviceFor(message)}`, /^[A-Z]+/.exec(message)?.[0] ?? "");
}

const CLIENT_CERTIFICATE = "If the server asks for a client certificate, name one by tls: { cert, key }.";

const ADVICE: readonly (readonly [fault: RegExp, advice: string])[] = [
  [/^(WRONGPASS|NOAUTH|ERR AUTH)/, "Check user and password in the URL."],
  [/^(connect |getaddrinfo )/, "Check host and port in the URL, and that the server runs."],
  [
    /self-signed certificate|unable to (verify the first|get (local )?issuer) certificate/,
    "Name its CA by tls: { ca }, or by NODE_EXTRA_CA_CERTS.",
  ],
  [
    /certificate (has expired|is not yet valid)/,
    "Renew the server's certificate, or set this machine's clock if that is wrong.",
  ],
  [/certificate required/, CLIENT_CERTIFICATE],
  [/does not match certificate's altnames/, "Name the host in the URL as its certificate does."],
  [
    /wrong version number|packet length too long/,
    "The server does not speak TLS there; use its TLS port, or redis://.",
  ],
  [/^READONLY/, "The server is a read-only replica; connect to its primary."],
  [/^OOM/, "Raise maxmemory on the server; tasks are never evicted to make room."],
  [/^NOPERM/, "Grant the user the store's keys and channels (~{prefix}:* &{prefix}:*) and the commands it uses."],
  [/^MISCONF/, "The server refuses writes as it cannot save; look into its log."],
];

function adviceFor(message: string): string {
  const advice = ADVICE.find(([fault]) => fault.test(message))?.[1];
  return advice === undefined ? "" : ` ${advice}`;
}

/**
 * Why a store cannot be opened. A server that asks for a client's certificate hangs up without one, and its reason is often not
 * read before that; later on, a connection that is reset says nothing of certificates.
 */
export function openingFailure(error: unknown, where: string): string {
  const { message } = error instanceof RedisFailure ? error : failureOf(error, where);
  const isHungUpOn = /\(((read|write) (ECONNRESET|EPIPE)|Connection is closed\.)\)\.$/.test(message);
  return where.endsWith(" over TLS") && isHungUpOn ? `${message} ${CLIENT_CERTIFICATE}` : message;
}

function detailsOf(error: unknown): { name: string; message: string } {
  if (!(error instanceof Error)) return { name: "", message: String(error) };
  // Node reports several addresses that all refused as one error without a message of its own.
  const message = error.message === "" ? `connect ${(error as { code?: string }).code ?? error.name}` : error.message;
  return { name: error.name, message };
}
