/** Serving one client: on stdin and stdout, or on any other connection that carries everything. */
import { type Readable, Writable } from "node:stream";
import { aFunction, checkOptions, having, type OptionRules } from "@claimcheck/core";
import type { McpServerFactory, Transport } from "@modelcontextprotocol/server";
import { StdioServerTransport, serveStdio as serveOnSdk } from "@modelcontextprotocol/server/stdio";
import { checkFactory, loggedFactory } from "../factory.js";
import { listenOnWire } from "../listen/wire.js";
import type { Tasks } from "../tasks.js";
import { answerMalformed, type Rejection, rejectedError } from "../wire/malformed.js";
import { decorateOnStart } from "../wire/transport.js";
import { errorReporter } from "../without-payload.js";
import { MessageLines } from "./message-lines.js";

export interface ServeStdioOptions {
  /** Default: the process's own. */
  stdin?: Readable;
  /** Default: the process's own, given to the protocol alone: whatever else the process prints goes to stderr. */
  stdout?: Writable;
  /** In place of the two: another connection to one client, such as one end of the SDK's `InMemoryTransport`. */
  transport?: Transport;
  /**
   * Told of what goes wrong beside the protocol: lines that are no message, a pipe that broke. Never of what they say.
   * Default: a warning in the log of the tasks.
   */
  onerror?: (error: Error) => void;
}

const OPTIONS: OptionRules<ServeStdioOptions> = {
  stdin: having("a readable stream", "pipe", "on"),
  stdout: having("a writable stream", "write", "on"),
  transport: having("a transport of the SDK", "start", "send", "close"),
  onerror: aFunction,
};

export interface StdioServing {
  /** Resolves when the connection has ended: stdin ended, stdout broke, or `close` was called. Exiting is the caller's. */
  readonly closed: Promise<void>;
  /** Ends the connection. The tasks go on until `Tasks.close`. */
  close(): Promise<void>;
}

/**
 * Opens `tasks` and serves the server that `factory` makes to the one client at the other end of the pipes.
 *
 * @throws TypeError for what is no option, or cannot be its value
 */
export async function serveStdio(
  tasks: Tasks,
  factory: McpServerFactory,
  options: ServeStdioOptions = {},
): Promise<StdioServing> {
  checkOptions("serveStdio", options, OPTIONS);
  checkFactory("serveStdio", factory);
  await tasks.open();
  const claimed = options.transport === undefined && options.stdout === undefined ? claimStdout() : undefined;
  const onerror = errorReporter(tasks.logger, options.onerror);
  const transport =
    options.transport ?? pipes(options.stdin ?? process.stdin, options.stdout ?? claimed?.protocol, onerror);
  let server: unknown;
  const makeServer = loggedFactory(async (context) => {
    const made = await factory(context);
    server = made;
    return made;
  }, tasks.logger);
  if (options.transport !== undefined) {
    decorateOnStart(transport, () => answerMalformed(transport, transport.send.bind(transport), onerror));
  }
  listenOnWire(transport, tasks.subscriptions, () => tasks.subscriptions.peerOf(server));
  const handle = serveOnSdk(makeServer, { transport, onerror });
  const closed = new Promise<void>((resolve) => {
    const { onclose } = transport;
    transport.onclose = () => {
      onclose?.();
      resolve();
    };
  });
  const released = closed.then(() => claimed?.release());
  return {
    closed: released,
    close: async () => {
      await handle.close();
      await released;
    },
  };
}

/** The SDK's transport behind a reader that answers what is no message. */
function pipes(stdin: Readable, stdout: Writable | undefined, onerror: (error: Error) => void): Transport {
  const reject = (rejection: Rejection): Promise<void> => {
    onerror(rejectedError(rejection));
    return transport.send(rejection as never);
  };
  const lines = new MessageLines({ reject });
  const transport = new StdioServerTransport(lines, stdout);
  stdin.on("error", (error) => void lines.destroy(error));
  if (stdin.readableEnded || stdin.destroyed) lines.end();
  else stdin.pipe(lines);
  stdin.on("close", () => void lines.end());
  const close = transport.close.bind(transport);
  transport.close = async () => {
    // What nobody reads any more must not keep the process alive.
    stdin.unpipe(lines);
    stdin.pause();
    await close();
  };
  return transport;
}

/**
 * Gives stdout to the protocol: what tools and libraries print with `console.log` or `process.stdout.write` would land
 * between its lines, so it goes to stderr instead. A child process that inherits file descriptor 1 is out of reach.
 */
function claimStdout(): { protocol: Writable; release: () => void } {
  const { stdout, stderr } = process;
  const original = Object.getOwnPropertyDescriptor(stdout, "write");
  const write = stdout.write.bind(stdout);
  stdout.write = stderr.write.bind(stderr);
  const protocol = new Writable({
    decodeStrings: false,
    write: (chunk: string, encoding, done) => void write(chunk, encoding, done),
  });
  // The SDK listens for an error with every message that waits to be written.
  protocol.setMaxListeners(0);
  const onError = (error: Error): void => void protocol.destroy(error);
  stdout.on("error", onError);
  const release = (): void => {
    if (original === undefined) Reflect.deleteProperty(stdout, "write");
    else Object.defineProperty(stdout, "write", original);
    // onError stays: a broken pipe may be reported late, and nobody listening would end the process.
  };
  return { protocol, release };
}
