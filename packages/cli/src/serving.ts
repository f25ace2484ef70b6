/** Serving one MCP server's tasks as it was asked for: to one client on stdio, or to many over HTTP. */
import { serveHttp, serveStdio, type Tasks } from "@claimcheck/mcp";
import { StartError } from "./errors.js";
import type { Host } from "./host.js";
import type { HttpSettings } from "./jupyter-settings.js";

/** What makes the server of a connection. */
export type ServerFactory = Parameters<typeof serveHttp>[1];

export interface Serving {
  /** Resolves when there is nobody left to serve; never over HTTP, where the next client may always come. */
  ended: Promise<string>;
  close(): Promise<void>;
}

export interface ServingLog {
  warn(fields: object, message: string): void;
}

/** Speaks with the client at the other end of stdin and stdout. */
export async function serveOneClient(
  tasks: Tasks,
  factory: ServerFactory,
  { isInteractive, stderr }: Pick<Host, "isInteractive" | "stderr">,
  log: ServingLog,
): Promise<Serving> {
  if (isInteractive) stderr.write("claimcheck: waiting for an MCP client on stdin; --http serves a port instead\n");
  const serving = await serveStdio(tasks, factory, { onerror: (error) => log.warn({ error: error.message }, "stdio") });
  return { ended: serving.closed.then(() => "the client has gone"), close: () => serving.close() };
}

/**
 * Serves a port, and says on stderr where, and with which token if it is a new one.
 * @throws StartError when the port cannot be had
 */
export async function servePort(
  tasks: Tasks,
  factory: ServerFactory,
  settings: HttpSettings,
  host: Pick<Host, "stderr">,
  log: ServingLog,
): Promise<Serving & { url: string }> {
  const { jwt, token, allowedHosts, allowedOrigins } = settings;
  const serving = await serveHttp(tasks, factory, {
    port: settings.port,
    host: settings.host,
    auth: jwt ?? (token === undefined ? "none" : { token }),
    ...(allowedHosts !== undefined && { allowedHosts }),
    ...(allowedOrigins !== undefined && { allowedOrigins }),
    onerror: (error) => log.warn({ error: error.message }, "http"),
  }).catch((cause: NodeJS.ErrnoException) => {
    throw startError(settings, cause);
  });
  const tokenLine = settings.tokenIsNew ? `claimcheck: clients need the token ${token}\n` : "";
  host.stderr.write(`claimcheck: serving MCP on ${serving.url}\n${tokenLine}`);
  return { url: serving.url, ended: new Promise(() => {}), close: () => serving.close() };
}

function startError({ host, port }: HttpSettings, cause: NodeJS.ErrnoException): Error {
  // What is wrong with what was said of the issuer, found before the port is opened.
  if (cause instanceof TypeError) return new StartError(cause.message, { cause });
  const why: Record<string, string> = {
    EADDRINUSE: `port ${port} of ${host} is taken; --port names another, and --port 0 takes any free one`,
    EACCES: `port ${port} of ${host} needs more rights; --port names another`,
    EADDRNOTAVAIL: `this machine has no address ${host}; --host names another`,
    ENOTFOUND: `${host} is no address of this machine; --host names another`,
  };
  const message = why[cause.code ?? ""];
  return message === undefined ? cause : new StartError(message, { cause });
}
