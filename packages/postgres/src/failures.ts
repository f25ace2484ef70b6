/** What the driver's errors mean, and how they are passed on: without parameters, rows and connection strings. */

/** The connection broke or could not be made. Whether the statement was carried out is not known. */
export function isConnectionLost(error: unknown): boolean {
  const { code, message } = detailsOf(error);
  return (
    /^(08...|57P0[123]|ECONN\w+|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH)$/.test(code) ||
    /Connection terminated|timeout exceeded when trying to connect|not queryable/.test(message)
  );
}

/** The statement was undone as it met another one (serialization failure, deadlock): it may be sent again. */
export function isUndone(error: unknown): boolean {
  return /^40(001|P01)$/.test(detailsOf(error).code);
}

/** The primary key of the tasks is taken. */
export function isTaken(error: unknown): boolean {
  return detailsOf(error).code === "23505" && detailsOf(error).constraint === "tasks_pkey";
}

/**
 * The error for the caller. `pg` puts the offending row into `detail` and others put statements into theirs; only
 * message, code and the constraint's name go on.
 */
export function withoutData(error: unknown, where: string): Error {
  const { message, ...details } = detailsOf(error);
  return Object.assign(new Error(`${where}: ${message}`), details);
}

/** What would put the fault right, where that can be said: by the error's code, or what it says. */
export function adviceFor(error: unknown): string {
  const { code, message } = detailsOf(error);
  return ADVICE.find(([fault]) => fault.test(code) || fault.test(message))?.[1] ?? "";
}

/** The certificate is by nobody that this process trusts. */
const CERTIFICATE_UNKNOWN =
  /^(SELF_SIGNED_CERT_IN_CHAIN|DEPTH_ZERO_SELF_SIGNED_CERT|UNABLE_TO_VERIFY_LEAF_SIGNATURE|UNABLE_TO_GET_ISSUER_CERT\w*)$/;

/** The server's own certificate does not hold now, by this machine's clock. */
const CERTIFICATE_OUT_OF_DATE = /^CERT_(HAS_EXPIRED|NOT_YET_VALID)$/;

const ADVICE: readonly (readonly [fault: RegExp, advice: string])[] = [
  [/^no pg_hba\.conf entry .* no encryption$/, " The server takes TLS only; add sslmode=verify-full to the URL."],
  [/^The server does not support SSL connections$/, " Turn ssl on there, or add sslmode=disable to the URL."],
  [CERTIFICATE_UNKNOWN, " Name its CA by sslrootcert=FILE in the URL, by tls: { ca }, or by NODE_EXTRA_CA_CERTS."],
  [CERTIFICATE_OUT_OF_DATE, " Renew the server's certificate, or set this machine's clock if that is wrong."],
  [
    /requires a valid client certificate/,
    " Name one that the server knows by sslcert=FILE and sslkey=FILE in the URL, or by tls: { cert, key }.",
  ],
  [/^ERR_TLS_CERT_ALTNAME_INVALID$/, " Name the host in the URL as its certificate does."],
  [/^28/, " Check user and password in the URL, and pg_hba.conf on the server."],
  [/^3D000$/, " Create the database, or name another one in the URL."],
  [
    /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOSTUNREACH)$/,
    " Check host and port in the URL, and that the server runs.",
  ],
  [
    /^42501$/,
    " Grant the user CREATE on the database, or create the schema for it and grant it CREATE and USAGE there.",
  ],
  [/^53300$/, " Raise max_connections on the server, or lower the pool's size."],
  [/^25006$/, " Connect to the primary, or set default_transaction_read_only to off."],
];

function detailsOf(error: unknown): { code: string; message: string; constraint?: string } {
  if (!(error instanceof Error)) return { code: "", message: String(error) };
  const { code, constraint } = error as { code?: unknown; constraint?: string };
  // Node reports several addresses that all refused as one error without a message of its own.
  const message = error.message === "" ? String(code ?? error.name) : error.message;
  return { code: typeof code === "string" ? code : "", message, ...(constraint === undefined ? {} : { constraint }) };
}
