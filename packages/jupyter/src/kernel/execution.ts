/**
 * One execute request from the moment it is sent until it has ended: what the kernel said about it, in order.
 *
 * A request is over when its reply *and* its idle status have come. They travel on different sockets and overtake each
 * other, and outputs come between them.
 */
import type { Clock, Timer } from "@claimcheck/core";
import {
  type AbortCause,
  codeError,
  type EndedExecution,
  type ExecutionEnd,
  INTERRUPTED,
  type Incompleteness,
  isAborted,
  isInterruption,
} from "./execution-end.js";
import { statusOf } from "./messages.js";
import { isRateLimitNotice } from "./rate-limit.js";
import type { KernelLog } from "./recorder.js";
import type { LostCause, Route } from "./routes.js";
import type { KernelMessage } from "./wire.js";

/** What to run. */
export interface ExecuteRequest {
  code: string;
  /** Whether the kernel counts the run and keeps it in its history. Default: true. */
  storeHistory?: boolean;
  /** Publishes nothing but status. Default: false. */
  silent?: boolean;
  /** Evaluated after the code; the values are in the reply. Default: none. */
  userExpressions?: Record<string, string>;
  /** The message's metadata, such as a cell id. Default: none. */
  metadata?: Record<string, unknown>;
  /** Default: a random one. */
  msgId?: string;
}

/** A question of `input()` or `getpass()`. */
export interface InputRequest {
  prompt: string;
  password: boolean;
}

/** Who follows a request. */
export interface ExecutionListener {
  /**
   * Each iopub message of this request, in the order of arrival; notices of the server are not among them.
   * @param late it came after the request had ended: a thread that the cell left behind still prints
   */
  onMessage?(message: KernelMessage, late: boolean): void;
  /** The kernel has begun, or an outcome has been reached. */
  onChange?(execution: Execution): void;
  /**
   * Answers a question of the code. Without it, questions fail at once inside the kernel. One that rejects leaves the
   * code waiting until it is interrupted.
   */
  onInput?(request: InputRequest): Promise<string>;
}

/** A request that an earlier process sent, or was about to send. */
export interface SentBefore {
  /** What the kernel has kept of it, and will go on keeping; undefined: it keeps nothing. */
  log: KernelLog | undefined;
}

/** What an execution needs from its connection. */
export interface ExecutionContext {
  request: KernelMessage;
  sessionId: string;
  clock: Clock;
  listener: ExecutionListener;
  /** Undefined: it is sent by us. */
  sentBefore?: SentBefore | undefined;
  /** Answers an `input_request`. */
  reply(request: KernelMessage, value: string): void;
  /** Reports what a listener threw. */
  onListenerError(error: unknown): void;
}

/** Silent requests have no such message, and some kernels never send it. */
const NO_INPUT_MS = 250;

/** One request under way. */
export class Execution implements Route {
  readonly msgId: string;
  /** Resolves when the request has ended; never rejects. */
  readonly ended: Promise<ExecutionEnd>;
  /** Resolves when the kernel has begun with it, or when it has ended without. */
  readonly begun: Promise<void>;
  /** Resolves when the kernel is idle after it, or when it has ended without. */
  readonly idle: Promise<void>;

  readonly #context: ExecutionContext;
  readonly #incomplete: Incompleteness = {
    rateLimited: false,
    reconnected: false,
    tooLarge: false,
    unconfirmed: false,
    unrecorded: false,
  };
  readonly #settleEnded: (end: ExecutionEnd) => void;
  readonly #settleBegun: () => void;
  readonly #settleIdle: () => void;
  #inputTimer: Timer | undefined;
  #startedAt: number | null = null;
  /** The dates of the messages by which the kernel began and became idle: both by its clock. */
  #beginDate: number | undefined;
  #idleDate: number | undefined;
  #inputSeen = false;
  #idleSeen = false;
  #reply: Record<string, unknown> | undefined;
  #halfDoneSince: number | undefined;
  #error: Record<string, unknown> | undefined;
  #executionCount: number | null = null;
  #interruptSent = false;
  #end: ExecutionEnd | undefined;
  /** What came in the log may come again by the connection. */
  readonly #logged: ReadonlySet<string> | undefined;

  constructor(context: ExecutionContext) {
    this.#context = context;
    const { sentBefore } = context;
    if (sentBefore?.log !== undefined) {
      this.#logged = new Set(sentBefore.log.messages.map(({ header }) => header.msg_id));
      this.#incomplete.unrecorded = sentBefore.log.dropped > 0;
    } else if (sentBefore !== undefined) this.#incomplete.reconnected = true;
    this.msgId = context.request.header.msg_id;
    [this.ended, this.#settleEnded] = signal<ExecutionEnd>();
    [this.begun, this.#settleBegun] = signal();
    [this.idle, this.#settleIdle] = signal();
  }

  /** Whether the kernel was seen to begin with this very request and not yet to be done: the only time to interrupt. */
  get isRunning(): boolean {
    return this.#startedAt !== null && !this.#idleSeen && this.#end === undefined;
  }

  /** Whether the kernel has said that it is done with it. */
  get idleSeen(): boolean {
    return this.#idleSeen;
  }

  get isDone(): boolean {
    return this.#end !== undefined;
  }

  /** How it ended; undefined while it is under way. */
  get end(): ExecutionEnd | undefined {
    return this.#end;
  }

  /** When the kernel began; epoch milliseconds, null before. */
  get startedAt(): number | null {
    return this.#startedAt;
  }

  /** Notes that an interrupt is about to be sent on behalf of this request. */
  noteInterrupt(): void {
    this.#interruptSent = true;
  }

  /** Takes what the kernel has kept of a request that was sent before. */
  replay({ messages }: KernelLog): void {
    for (const message of messages) this.#receiveIopub(message);
  }

  receive(message: KernelMessage): void {
    if (this.#logged?.has(message.header.msg_id)) return;
    if (message.channel === "iopub") this.#receiveIopub(message);
    else if (this.isDone) return;
    else if (message.header.msg_type === "input_request") this.#answer(message);
    else if (message.header.msg_type === "execute_reply") this.#receiveReply(message);
  }

  lose(cause: LostCause, reason: string): void {
    this.#finish({ ...this.#facts(), state: cause, reason });
  }

  withdraw(cause: AbortCause, reason: string): void {
    this.#finish({ ...this.#facts(), state: "aborted", cause, reason });
  }

  noteGap(tooLarge: boolean): void {
    this.#incomplete.reconnected = true;
    if (tooLarge) this.#incomplete.tooLarge = true;
  }

  get halfDoneSince(): number | undefined {
    return this.isDone ? undefined : this.#halfDoneSince;
  }

  settleUnanswered(reason: string): void {
    // An interrupt that lands between the code's end and its reply takes the reply with it.
    const interrupted = this.#idleSeen && this.#interruptSent ? (this.#error ?? INTERRUPTED) : undefined;
    const reply = this.#reply ?? interrupted;
    if (this.#isUnsent) {
      this.withdraw("never_sent", "the process that was about to send it ended before");
      return;
    }
    this.#incomplete.unconfirmed = true;
    if (reply === undefined) this.lose("connection_lost", reason);
    else this.#finishWithReply(reply);
  }

  /** Of a request that was sent before, and whose kernel records: it has shown nothing, so it has got nothing. */
  get #isUnsent(): boolean {
    return this.#logged !== undefined && this.#startedAt === null && !this.#idleSeen;
  }

  #receiveIopub(message: KernelMessage): void {
    if (isRateLimitNotice(message, this.#context.sessionId)) {
      this.#incomplete.rateLimited = true;
      return;
    }
    const late = this.isDone;
    if (!late) this.#note(message);
    this.#tell(() => this.#context.listener.onMessage?.(message, late));
    if (!late) this.#finishIfOver();
  }

  #note(message: KernelMessage): void {
    const status = statusOf(message);
    if (status === "busy") this.#expectInput(message);
    else if (status === "idle") this.#becomeIdle(message);
    else this.#begin(message);
    if (message.header.msg_type === "execute_input") {
      this.#inputSeen = true;
      this.#noteCount(message.content.execution_count);
    }
    if (message.header.msg_type === "error") this.#error = message.content;
  }

  /**
   * A kernel that is busy has read the request but may still be preparing, and ipykernel ignores interrupts until it
   * repeats the code on iopub. A kernel that never does so counts as running a little later.
   */
  #expectInput(busy: KernelMessage): void {
    const { clock } = this.#context;
    this.#inputTimer ??= clock.setTimer(() => this.#begin(busy), NO_INPUT_MS);
  }

  #begin(message: KernelMessage): void {
    if (this.#startedAt !== null || this.isDone || this.#idleSeen) return;
    this.#stopExpectingInput();
    this.#startedAt = this.#instantOf(message);
    this.#beginDate = dateOf(message);
    this.#settleBegun();
    this.#tell(() => this.#context.listener.onChange?.(this));
  }

  /** Of what a log tells, the kernel's clock is all there is. */
  #instantOf(message: KernelMessage): number {
    const now = this.#context.clock.now();
    if (!this.#logged?.has(message.header.msg_id)) return now;
    return Math.min(dateOf(message) ?? now, now);
  }

  /**
   * A run that is taken up, or whose connection was lost, may have ended long before we heard of it, and its kernel may be on
   * another machine: only the dates of its own messages tell how long it ran.
   */
  #endedAt(): number {
    const now = this.#context.clock.now();
    const mayBeOld = this.#context.sentBefore !== undefined || this.#incomplete.reconnected;
    if (!mayBeOld || this.#startedAt === null) return now;
    if (this.#beginDate === undefined || this.#idleDate === undefined) return now;
    return this.#startedAt + Math.max(0, this.#idleDate - this.#beginDate);
  }

  #stopExpectingInput(): void {
    if (this.#inputTimer !== undefined) this.#context.clock.clearTimer(this.#inputTimer);
  }

  #becomeIdle(message: KernelMessage): void {
    this.#idleSeen = true;
    this.#idleDate = dateOf(message);
    this.#stopExpectingInput();
    this.#halfDoneSince ??= this.#context.clock.now();
    this.#settleIdle();
  }

  #noteCount(count: unknown): void {
    if (typeof count === "number") this.#executionCount = count;
  }

  #receiveReply(message: KernelMessage): void {
    this.#reply = message.content;
    this.#halfDoneSince ??= this.#context.clock.now();
    this.#noteCount(message.content.execution_count);
    this.#finishIfOver();
  }

  #finishIfOver(): void {
    if (!this.#idleSeen) return;
    // The reply goes to whoever asked, who is gone; what it would say has been published.
    const reply = this.#reply ?? (this.#logged && this.#publishedReply());
    if (reply !== undefined) this.#finishWithReply(reply);
  }

  #publishedReply(): Record<string, unknown> {
    if (this.#error !== undefined) return { ...this.#error, status: "error" };
    return this.#inputSeen ? { status: "ok", execution_count: this.#executionCount } : { status: "aborted" };
  }

  #finishWithReply(reply: Record<string, unknown>): void {
    // Busy alone does not show that it ran: a kernel is busy with skipping a request too.
    const skipped = isAborted(reply) && !this.#inputSeen;
    if (reply.status === "ok") this.#finish({ ...this.#facts(), state: "completed", reply });
    else if (skipped) this.withdraw("earlier_failure", "the kernel dropped it unrun: a cell before it failed");
    else this.#finishWithError(reply);
  }

  #finishWithError(reply: Record<string, unknown>): void {
    const error = codeError(reply, this.#error);
    const interrupted = this.#interruptSent && (isAborted(reply) || isInterruption(error));
    this.#finish({ ...this.#facts(), state: interrupted ? "interrupted" : "errored", error, reply });
  }

  #facts(): EndedExecution {
    return {
      executionCount: this.#executionCount,
      startedAt: this.#startedAt,
      endedAt: this.#endedAt(),
      interruptSent: this.#interruptSent,
      incomplete: this.#incomplete,
    };
  }

  #finish(end: ExecutionEnd): void {
    if (this.#end !== undefined) return;
    this.#end = end;
    this.#stopExpectingInput();
    this.#settleBegun();
    this.#settleIdle();
    this.#settleEnded(end);
    this.#tell(() => this.#context.listener.onChange?.(this));
  }

  #answer(request: KernelMessage): void {
    const { onInput } = this.#context.listener;
    if (onInput === undefined) return;
    const { prompt, password } = request.content;
    const question = { prompt: typeof prompt === "string" ? prompt : "", password: password === true };
    Promise.resolve()
      .then(() => onInput.call(this.#context.listener, question))
      .then((value) => {
        if (!this.isDone) this.#context.reply(request, value);
      })
      .catch(this.#context.onListenerError);
  }

  /** A listener that throws must not cost anybody a message. */
  #tell(call: () => void): void {
    try {
      call();
    } catch (error) {
      this.#context.onListenerError(error);
    }
  }
}

/** By the clock of who sent it, epoch milliseconds. */
function dateOf({ header }: KernelMessage): number | undefined {
  const at = Date.parse(header.date);
  return Number.isNaN(at) ? undefined : at;
}

function signal<T = void>(): [Promise<T>, (value: T) => void] {
  let settle: (value: T) => void = () => {};
  const promise = new Promise<T>((resolve) => {
    settle = resolve;
  });
  return [promise, settle];
}
