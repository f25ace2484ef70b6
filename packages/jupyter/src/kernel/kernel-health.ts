/**
 * Finds out what nothing announces: a link that is half open, a kernel that was removed while it was stuck, a process
 * that was replaced in silence, a closing message that was lost. One timer for a connection, whatever runs on it.
 */
import { type Clock, LATE, type Timer, within } from "@claimcheck/core";
import { JupyterError } from "./errors.js";
import type { KernelWatcher } from "./kernel-watcher.js";
import type { Link } from "./link.js";
import type { NewMessage } from "./messages.js";
import type { ReplyRequest } from "./request.js";
import type { KernelModel } from "./rest.js";
import type { Route, Routes } from "./routes.js";

/** What the checks need of their connection. */
export interface HealthContext {
  heartbeatMs: number;
  lateOutputMs: number;
  clock: Clock;
  link: Link;
  routes: Routes;
  ownRoutes: Routes;
  watcher: KernelWatcher;
  getKernel(): Promise<KernelModel>;
  /** Since when the kernel is between two processes; undefined while it is not. */
  downSince(): number | undefined;
  /** Sends at once, whatever is held back. */
  send(message: NewMessage): ReplyRequest;
  comeUp(): void;
  /** The server has no such kernel. */
  onGone(error: JupyterError): void;
}

/** A link that is silent for this many heartbeats is dead. */
const SILENT_BEATS = 3;
/** Long enough for a proxy's hiccup, short enough that nobody thinks the cell still runs. */
const HALF_DONE_MS = 5_000;
/** What was published before a shell reply can be this far behind it, on the other socket. */
const IOPUB_LAG_MS = 1_000;
/** A kernel that has not spoken this long after it went down is spoken to, if the server still has it. */
const DOWN_MS = 30_000;
/** For the server to subscribe to a new process: it tries anew every tenth of a second. */
const VOICE_MS = 250;
const VOICE_TRIES = 10;
/** The server is asked about a kernel that works in silence at the first two heartbeats, then once in so many. */
const ASK_EVERY_BEATS = 12;

/** The checks of one connection. */
export class KernelHealth {
  readonly #context: HealthContext;
  #timer: Timer | undefined;
  #isStopped = false;
  #silentBeats = 0;
  #probe: ReplyRequest | undefined;
  #proof: ReplyRequest | undefined;

  constructor(context: HealthContext) {
    this.#context = context;
  }

  start(): void {
    const { clock, heartbeatMs } = this.#context;
    this.#timer = clock.setTimer(() => this.#beat(), heartbeatMs);
  }

  stop(): void {
    this.#isStopped = true;
    if (this.#timer !== undefined) this.#context.clock.clearTimer(this.#timer);
  }

  /** The kernel has said something. */
  hear(): void {
    this.#silentBeats = 0;
  }

  /**
   * Queues a request behind the given ones: its reply proves that the kernel has nothing more to say about them. Unless
   * messages may have been lost, only those count as over of which the kernel has said so in part: some kernels answer
   * while a cell of theirs still waits for something.
   */
  proveOver(routes: readonly Route[], lossReason?: string): void {
    const { clock, send } = this.#context;
    const reason = `the kernel is done with it, but its answer was lost (${lossReason ?? "it never came"})`;
    const settle = (): void => {
      const over = lossReason === undefined ? routes.filter(isHalfDone) : routes;
      this.#context.routes.settleUnanswered(over, reason, clock.now());
    };
    this.#proof = send({ channel: "shell", type: "kernel_info_request" });
    this.#proof.reply.then(
      () => clock.setTimer(settle, IOPUB_LAG_MS),
      () => {},
    );
  }

  /** Asks the server whether it still has the kernel; false if it has none, or cannot be asked. */
  async checkKernel(): Promise<boolean> {
    try {
      const { executionState } = await this.#context.getKernel();
      this.#probeIfSuspect(executionState);
      return true;
    } catch (error) {
      if (JupyterError.is(error) && error.code === "not_found") this.#context.onGone(error);
      return false;
    }
  }

  /**
   * Again and again, whatever the server says: it may still describe the process that ended. A kernel that dies young
   * comes back on other ports, and the server leaves open sockets on the old ones: they hear nothing any more.
   */
  probeDown(downSince: number): void {
    const { clock, link, watcher, comeUp } = this.#context;
    if (clock.now() - downSince > DOWN_MS) comeUp();
    else if (this.#probe?.isDone === false) link.drop();
    else {
      const probe = this.#sendProbe();
      probe.reply.then(
        (answer) => (watcher.accept(answer) ? this.comeUpOnceHeard(probe) : undefined),
        () => {},
      );
    }
  }

  /**
   * The server may subscribe to a new process only after that has answered `asked`, and what is published until then is
   * lost. A kernel that publishes nothing about what it is asked on control is taken at its word in the end.
   */
  async comeUpOnceHeard(asked: ReplyRequest): Promise<void> {
    const { clock, link, downSince, send, comeUp } = this.#context;
    let last = asked;
    // Over a socket that is new in the meantime the server listens to the new process from the start.
    for (let tries = 0; tries < VOICE_TRIES && downSince() !== undefined && link.isUp; tries++) {
      if ((await within(clock, VOICE_MS, last.heard)) !== LATE) break;
      last = send({ channel: "control", type: "kernel_info_request" });
    }
    if (downSince() !== undefined) comeUp();
  }

  #beat(): void {
    const { clock, link, routes, ownRoutes, heartbeatMs, lateOutputMs } = this.#context;
    this.start();
    link.beat(SILENT_BEATS * heartbeatMs);
    routes.forget(clock.now() - lateOutputMs);
    ownRoutes.forget(clock.now() - lateOutputMs);
    this.#checkHalfDone();
    if (this.#isCheckDue()) void this.checkKernel();
  }

  #isCheckDue(): boolean {
    if (this.#context.downSince() !== undefined) return true;
    if (!this.#context.routes.hasPending) return false;
    this.#silentBeats++;
    return this.#silentBeats === 2 || this.#silentBeats === 3 || this.#silentBeats % ASK_EVERY_BEATS === 0;
  }

  #checkHalfDone(): void {
    const { clock, link, routes, downSince } = this.#context;
    const before = clock.now() - HALF_DONE_MS;
    const halfDone = routes.pending.filter(({ halfDoneSince }) => (halfDoneSince ?? Infinity) < before);
    const canAsk = link.isUp && downSince() === undefined && this.#proof?.isDone !== false;
    if (halfDone.length > 0 && canAsk) this.proveOver(halfDone);
  }

  /**
   * Makes a process that may have been replaced unnoticed show its session. Not while the server calls it busy with
   * what is under way: a person's page would take our control traffic for the end of their cell.
   */
  #probeIfSuspect(executionState: string): void {
    if (this.#isStopped || !this.#context.link.isUp) return;
    const downSince = this.#context.downSince();
    if (downSince !== undefined) this.probeDown(downSince);
    else if (executionState !== "busy" && this.#probe?.isDone !== false) this.#sendProbe();
  }

  #sendProbe(): ReplyRequest {
    this.#probe = this.#context.send({ channel: "control", type: "kernel_info_request" });
    return this.#probe;
  }
}

function isHalfDone({ halfDoneSince }: Route): boolean {
  return halfDoneSince !== undefined;
}
