/**
 * The connection of one client to one kernel: it outlives sockets and kernel processes, and every request made on it
 * ends, whatever becomes of either.
 *
 * Requests are held back while there is nobody to send them to (no socket, or a kernel between two processes), and are
 * told that they are lost when the process that had them is gone. After a reconnection a further request, queued behind
 * them in the kernel, proves them over.
 */
import { randomUUID } from "node:crypto";
import { type Clock, describeError, LATE, type Logger, stderrLogger, systemClock, within } from "@claimcheck/core";
import type { ConnectionEvent, ConnectionOptions, ConnectionState } from "./connection-options.js";
import { JupyterError } from "./errors.js";
import { type ExecuteRequest, Execution, type ExecutionListener, type SentBefore } from "./execution.js";
import { KernelHealth } from "./kernel-health.js";
import { type KernelChange, KernelWatcher } from "./kernel-watcher.js";
import { Link } from "./link.js";
import { createMessage, type NewMessage, type Sender } from "./messages.js";
import { Outbox } from "./outbox.js";
import { ReplyRequest } from "./request.js";
import type { JupyterRest } from "./rest.js";
import { type LostCause, type Route, Routes } from "./routes.js";
import type { SocketEnd } from "./socket.js";
import { UnclaimedMessages } from "./unclaimed-messages.js";
import { type KernelMessage, V1_SUBPROTOCOL } from "./wire.js";

/** For a new process to answer: imports from a cold disk. */
const RESTART_LIMIT_MS = 60_000;

const ENDINGS = {
  restarting: { cause: "kernel_restarted", reason: "the kernel is being restarted" },
  shutdown: { cause: "kernel_died", reason: "the kernel was shut down" },
  died: { cause: "kernel_died", reason: "the kernel's process ended; the server starts a new one" },
} as const;

/** One connection; see {@link connectKernel}. */
export class KernelConnection {
  readonly kernelId: string;
  readonly sessionId: string;
  readonly #rest: JupyterRest;
  readonly #sender: Sender;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #link: Link;
  readonly #outbox: Outbox;
  readonly #health: KernelHealth;
  readonly #routes = new Routes();
  /** Requests of the connection itself: nobody waits for the kernel on their account. */
  readonly #ownRoutes = new Routes();
  readonly #watcher = new KernelWatcher();
  readonly #listeners = new Set<(event: ConnectionEvent) => void>();
  /** What is said of requests that an earlier process sent, until they are adopted. */
  readonly #unclaimed: UnclaimedMessages;
  #lastEnd: SocketEnd | undefined;
  #closed: { cause: LostCause; error: JupyterError | undefined } | undefined;

  /** @internal */
  constructor(options: ConnectionOptions) {
    this.kernelId = options.kernelId;
    this.sessionId = options.sessionId ?? randomUUID();
    this.#unclaimed = new UnclaimedMessages(options.sessionId);
    this.#rest = options.rest;
    this.#sender = { sessionId: this.sessionId, username: options.username ?? "claimcheck" };
    this.#clock = options.clock ?? systemClock;
    this.#logger = options.logger ?? stderrLogger;
    this.#link = this.#createLink(options);
    this.#outbox = new Outbox(this.#link, this.#routes, this.#clock);
    this.#health = this.#createHealth(options);
  }

  get state(): ConnectionState {
    if (this.#closed !== undefined) return "closed";
    return this.#link.isUp ? "open" : "reconnecting";
  }

  /** @internal */
  async open(): Promise<void> {
    await this.#link.open();
    this.#health.start();
    // Its busy and idle tell us the session of the kernel's process, so that a later change of it is seen.
    this.#sendNow({ channel: "control", type: "kernel_info_request" });
  }

  /**
   * Runs code. Never throws: what goes wrong is how the execution ends.
   *
   * A failing cell does not make the kernel drop what is queued behind it: that may be somebody else's.
   */
  execute(request: ExecuteRequest, listener: ExecutionListener = {}): Execution {
    const message = createMessage(this.#sender, executeMessage(request, listener));
    const execution = this.#newExecution(message, listener);
    this.#submit(execution, message);
    return execution;
  }

  /** Keeps what is said of a request from now on until it is adopted: to be called before its log is asked for. */
  expect(msgId: string): void {
    this.#unclaimed.expect(msgId);
  }

  /** Keeps nothing more of a request that is not adopted after all, and lets go of what was kept. */
  forget(msgId: string): void {
    this.#unclaimed.take(msgId);
  }

  /**
   * Follows a request that an earlier process sent, or was about to send: nothing is sent. What that process heard, and what
   * was said since, is what the kernel has kept of it, or else what the server held back for the session. Never throws.
   */
  adopt(
    request: ExecuteRequest & { msgId: string },
    sentBefore: SentBefore,
    listener: ExecutionListener = {},
  ): Execution {
    const message = createMessage(this.#sender, executeMessage(request, listener));
    const execution = this.#newExecution(message, listener, sentBefore);
    if (this.#closed !== undefined) {
      execution.lose(this.#closed.cause, this.#closed.error?.message ?? "the connection is closed");
      return execution;
    }
    if (sentBefore.log !== undefined) execution.replay(sentBefore.log);
    this.#routes.add(execution);
    const now = this.#clock.now();
    for (const early of this.#unclaimed.take(execution.msgId)) this.#routes.deliver(early, now);
    if (execution.isDone) this.#routes.lose([execution], "connection_lost", "", now);
    else if (this.#outbox.canSend) this.#health.proveOver([execution], "the process that asked for it is gone");
    return execution;
  }

  /** Runs code of our own that nobody asked for and that shows nothing, before whatever is sent after it. */
  prepare(code: string): void {
    if (this.#outbox.canSend) this.#sendNow(executeMessage({ code, silent: true }, {}));
  }

  #newExecution(request: KernelMessage, listener: ExecutionListener, sentBefore?: SentBefore): Execution {
    return new Execution({
      request,
      sentBefore,
      sessionId: this.sessionId,
      clock: this.#clock,
      listener,
      reply: (question, value) => this.#answer(question, value),
      onListenerError: (error) =>
        this.#logger.error({ error: describeError(error) }, "a listener of a kernel request threw"),
    });
  }

  /**
   * Sends a request that has one reply, and resolves with it.
   * @throws JupyterError when the reply will never come
   */
  async request(message: NewMessage): Promise<KernelMessage> {
    const full = createMessage(this.#sender, message);
    const request = new ReplyRequest(full.header.msg_id);
    this.#submit(request, full);
    return await request.reply;
  }

  /**
   * Asks the kernel something trivial on the shell channel. This wakes an event loop that has an interrupt to handle
   * and does not know it (ipykernel's top-level `await`), and once answered it proves over what has already ended in part.
   */
  nudge(): void {
    if (this.#outbox.canSend) this.#health.proveOver(this.#routes.pending);
  }

  /**
   * Restarts the kernel and resolves once the new process answers. Requests under way end `kernel_restarted`.
   * @throws JupyterError
   */
  async restart(): Promise<void> {
    const underWay = this.#routes.pending;
    this.#outbox.goDown();
    try {
      await this.#rest.restartKernel(this.kernelId);
    } catch (error) {
      if (await this.#health.checkKernel()) this.#outbox.comeUp();
      throw error;
    }
    this.#routes.lose(underWay, "kernel_restarted", "the kernel was restarted", this.#clock.now());
    await this.#awaitNewProcess();
  }

  /** Takes back an execution that has not been sent yet, because there was nobody to send it to; false if it was sent. */
  withdraw(execution: Execution): boolean {
    if (!this.#outbox.takeBack(execution)) return false;
    execution.withdraw("cancelled", "it was cancelled before it was sent");
    return true;
  }

  /** Calls `listener` with what happens from now on; the returned function ends that. */
  subscribe(listener: (event: ConnectionEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Closes the connection; the kernel stays. Requests under way end `connection_lost`. */
  async close(): Promise<void> {
    this.#finish({ cause: "connection_lost", error: undefined }, "the connection was closed here");
    await this.#link.close();
  }

  /** @internal Cuts the socket as a broken network would. */
  dropSocket(): void {
    this.#link.drop();
  }

  #createLink(options: ConnectionOptions): Link {
    const socketOptions = {
      address: options.rest.address,
      kernelId: options.kernelId,
      sessionId: this.sessionId,
      subprotocols: options.legacyProtocol ? [] : [V1_SUBPROTOCOL],
      handshakeTimeoutMs: options.handshakeTimeoutMs ?? 75_000,
      maxPayloadBytes: options.maxPayloadBytes ?? 512 * 1024 * 1024,
      clock: this.#clock,
    };
    return new Link(socketOptions, options.reconnect ?? {}, {
      onMessage: (message) => this.#receive(message),
      onMalformed: (error) => this.#logger.warn({ error: error.message }, "a kernel sent something unreadable"),
      onDown: (end) => this.#onDown(end),
      onUp: () => this.#onUp(),
      onGivenUp: (error) => this.#onGivenUp(error),
    });
  }

  #createHealth(options: ConnectionOptions): KernelHealth {
    return new KernelHealth({
      heartbeatMs: options.heartbeatMs ?? 5_000,
      lateOutputMs: options.lateOutputMs ?? 5 * 60_000,
      clock: this.#clock,
      link: this.#link,
      routes: this.#routes,
      ownRoutes: this.#ownRoutes,
      watcher: this.#watcher,
      getKernel: () => this.#rest.getKernel(this.kernelId),
      downSince: () => this.#outbox.downSince,
      send: (message) => this.#sendNow(message),
      comeUp: () => this.#outbox.comeUp(),
      onGone: (error) => this.#onGone("the server has no such kernel any more", error),
    });
  }

  #submit(route: Route, message: KernelMessage): void {
    if (this.#closed !== undefined) {
      route.withdraw(this.#closed.cause, this.#closed.error?.message ?? "the connection is closed");
    } else {
      this.#outbox.post(route, message);
    }
  }

  /** Whatever answers now is the new process. If the socket is lost meanwhile, the checks go on from there. */
  async #awaitNewProcess(): Promise<void> {
    if (!this.#link.isUp) return;
    const asked = this.#sendNow({ channel: "control", type: "kernel_info_request" });
    const answer = await within(
      this.#clock,
      RESTART_LIMIT_MS,
      asked.reply.catch(() => undefined),
    );
    if (answer === LATE || this.#closed !== undefined) {
      throw new JupyterError("server_error", `Kernel ${this.kernelId} was restarted, but does not answer.`);
    }
    if (answer === undefined) return;
    this.#watcher.accept(answer);
    await this.#health.comeUpOnceHeard(asked);
  }

  /** Sends past the requests that are held back. */
  #sendNow(message: NewMessage): ReplyRequest {
    const full = createMessage(this.#sender, message);
    const request = new ReplyRequest(full.header.msg_id);
    this.#ownRoutes.add(request);
    this.#link.send(full);
    return request;
  }

  #answer(question: KernelMessage, value: string): void {
    if (!this.#link.isUp) return;
    const reply = { channel: "stdin", type: "input_reply", content: { value }, parent: question } as const;
    this.#link.send(createMessage(this.#sender, reply));
  }

  #receive(message: KernelMessage): void {
    this.#health.hear();
    const change = this.#watcher.observe(message);
    if (change !== undefined) this.#onKernelChange(change);
    const now = this.#clock.now();
    if (!this.#routes.deliver(message, now) && !this.#ownRoutes.deliver(message, now)) this.#unclaimed.keep(message);
    this.#emit({ type: "message", message });
  }

  #onKernelChange(change: KernelChange): void {
    this.#emit({ type: "kernel", change });
    if (change === "dead") this.#onGone("its process ended, and the server could not start a new one");
    else if (change === "replaced") this.#onReplaced();
    else this.#onEnding(change);
  }

  #onEnding(change: keyof typeof ENDINGS): void {
    const { cause, reason } = ENDINGS[change];
    this.#losePending(cause, reason);
    this.#outbox.goDown();
    if (change === "shutdown") void this.#health.checkKernel();
  }

  /** While it was down nothing was sent, so that what is under way is not the old process's. */
  #onReplaced(): void {
    if (this.#outbox.downSince === undefined) this.#losePending("kernel_restarted", "the kernel was restarted");
    this.#outbox.comeUp();
  }

  #losePending(cause: LostCause, reason: string): void {
    const now = this.#clock.now();
    this.#routes.lose(this.#routes.pending, cause, reason, now);
    this.#ownRoutes.lose(this.#ownRoutes.pending, cause, reason, now);
  }

  #onDown(end: SocketEnd): void {
    this.#lastEnd = end;
    // Now and not when the link is back: the end of a run can be replayed in the very tick in which it is.
    for (const route of this.#routes.pending) route.noteGap(end.tooLarge);
    this.#emit({ type: "reconnecting", reason: end.reason });
  }

  #onUp(): void {
    this.#ownRoutes.lose(this.#ownRoutes.pending, "connection_lost", "the socket was lost", this.#clock.now());
    if (this.#routes.hasPending) {
      this.#health.proveOver(this.#routes.pending, this.#lastEnd?.reason ?? "the socket was lost");
    }
    this.#emit({ type: "reconnected" });
    if (this.#outbox.downSince === undefined) this.#outbox.flush();
    else this.#health.probeDown(this.#outbox.downSince);
  }

  #onGivenUp(error: JupyterError): void {
    if (error.code === "not_found") this.#onGone("the server has no such kernel any more", error);
    else this.#finish({ cause: "connection_lost", error }, error.message);
  }

  #onGone(reason: string, cause?: JupyterError): void {
    const error = cause ?? new JupyterError("not_found", `Kernel ${this.kernelId} is gone: ${reason}.`);
    this.#finish({ cause: "kernel_died", error }, reason);
    void this.#link.close();
  }

  #finish(closed: { cause: LostCause; error: JupyterError | undefined }, reason: string): void {
    if (this.#closed !== undefined) return;
    this.#closed = closed;
    this.#health.stop();
    this.#losePending(closed.cause, reason);
    for (const route of this.#outbox.takeBackAll()) route.withdraw(closed.cause, reason);
    this.#emit({ type: "closed", error: closed.error });
  }

  #emit(event: ConnectionEvent): void {
    for (const listener of this.#listeners) {
      try {
        listener(event);
      } catch (error) {
        this.#logger.error({ error: describeError(error) }, "a listener of a kernel connection threw");
      }
    }
  }
}

/**
 * Opens a connection to a running kernel; resolves once the kernel can be spoken to.
 * @throws JupyterError `unreachable`, `unauthorized`, `not_found` (no such kernel), ...
 */
export async function connectKernel(options: ConnectionOptions): Promise<KernelConnection> {
  const connection = new KernelConnection(options);
  await connection.open();
  return connection;
}

function executeMessage(request: ExecuteRequest, listener: ExecutionListener): NewMessage {
  return {
    channel: "shell",
    type: "execute_request",
    content: {
      code: request.code,
      silent: request.silent ?? false,
      store_history: request.storeHistory ?? !request.silent,
      user_expressions: request.userExpressions ?? {},
      allow_stdin: listener.onInput !== undefined,
      stop_on_error: false,
    },
    ...(request.metadata === undefined ? {} : { metadata: request.metadata }),
    ...(request.msgId === undefined ? {} : { msgId: request.msgId }),
  };
}
