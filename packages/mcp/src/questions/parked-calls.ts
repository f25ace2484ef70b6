/**
 * Direct calls of revision 2026-07-28 that ask: the server cannot send requests there, so the call is answered with its
 * questions and taken up where it stands when the client calls again with the answers (SEP-2322). The handler runs once
 * and waits here meanwhile, so what it did before it asked is not done twice. In this process only: a call whose answers
 * come to another one is refused with the reason.
 */
import { randomBytes } from "node:crypto";
import {
  type JsonObject,
  type Log,
  type Outcome,
  type QuestionRequest,
  QuestionWithdrawnError,
  type SendProgress,
} from "@claimcheck/core";
import type { DirectChannel } from "../calls/direct-channel.js";
import { checkAnswer } from "./answer.js";
import { type Asker, refuseUndeclared } from "./asker.js";

/** What a round came to. */
export type Turn = { outcome: Outcome } | { inputRequests: JsonObject; requestState: string } | { refused: string };

interface OpenQuestion {
  request: QuestionRequest;
  resolve: (answer: JsonObject) => void;
  reject: (error: Error) => void;
  timer: NodeJS.Timeout;
}

const PREFIX = "claimcheck.call.";
/** How long an unanswered call is kept when its tool does not say. A client that shows a form to a person comes back sooner. */
const PATIENCE_MS = 10 * 60_000;
/** How many calls may wait for their callers at once. */
export const MAX_PARKED = 1000;

/** Whether a `requestState` is of this making. */
export const isCallState = (state: unknown): state is string => typeof state === "string" && state.startsWith(PREFIX);

export class ParkedCall implements Asker {
  readonly state: string = `${PREFIX}${randomBytes(16).toString("base64url")}`;
  readonly owner: string;
  readonly toolName: string;
  readonly #capabilities: JsonObject | undefined;
  readonly #open = new Map<string, OpenQuestion>();
  readonly #waiting = new Set<(turn: Turn) => void>();
  readonly #controller = new AbortController();
  /** Of the request that waits for the call now. */
  #channel: DirectChannel | undefined;
  #asked = 0;
  #outcome: Outcome | undefined;
  #turnIsDue = false;

  constructor(owner: string, toolName: string, capabilities: JsonObject | undefined) {
    this.owner = owner;
    this.toolName = toolName;
    this.#capabilities = capabilities;
  }

  /** Aborted when the caller cancels. Between two rounds there is nobody who could. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  readonly sendProgress: SendProgress = (current, options) => this.#channel?.sendProgress(current, options) ?? false;

  readonly log: Log = (level, data, logger) => this.#channel?.log(level, data, logger) ?? false;

  /** Whether a request waits for the next round now. */
  get isWaitedFor(): boolean {
    return this.#waiting.size > 0;
  }

  heardBy(channel: DirectChannel): void {
    this.#channel = channel;
  }

  ask(request: QuestionRequest): Promise<JsonObject> {
    return new Promise((resolve, reject) => {
      refuseUndeclared(request, this.#capabilities);
      this.#asked += 1;
      const key = `q${this.#asked}`;
      const timer = setTimeout(() => this.#withdraw(key), Math.min(request.timeoutMs ?? PATIENCE_MS, 2 ** 31 - 1));
      timer.unref();
      this.#open.set(key, { request, resolve, reject, timer });
      this.#settleSoon();
    });
  }

  /** The handler has come to its end. */
  end(outcome: Outcome): void {
    this.#outcome = outcome;
    for (const key of [...this.#open.keys()]) this.#take(key);
    this.#settle();
  }

  /** Waits until the handler has ended, or waits for answers itself. */
  turn(): Promise<Turn> {
    return new Promise((resolve) => {
      this.#waiting.add(resolve);
      if (this.#outcome !== undefined) this.#settle();
      else if (this.#open.size > 0) this.#settleSoon();
    });
  }

  /** Hands the answers to the handler; unknown and answered keys are ignored. @returns why all are refused, if they are */
  answer(responses: JsonObject): string | undefined {
    const given: [string, JsonObject][] = [];
    for (const [key, { request }] of this.#open) {
      if (!Object.hasOwn(responses, key)) continue;
      const checked = checkAnswer(request, responses[key]);
      if ("refused" in checked) return `The answer to ${key} is refused: ${checked.refused}.`;
      given.push([key, checked.answer]);
    }
    for (const [key, answer] of given) this.#take(key)?.resolve(answer);
    return undefined;
  }

  #take(key: string): OpenQuestion | undefined {
    const question = this.#open.get(key);
    this.#open.delete(key);
    clearTimeout(question?.timer);
    return question;
  }

  #withdraw(key: string): void {
    this.#take(key)?.reject(new QuestionWithdrawnError("timed_out"));
  }

  /** Tells the work to stop: nobody waits for it any more. */
  cancel(): void {
    this.#controller.abort();
    for (const key of [...this.#open.keys()]) this.#take(key)?.reject(new QuestionWithdrawnError("task_ended"));
  }

  /** Questions that are asked together go out together. */
  #settleSoon(): void {
    if (this.#turnIsDue) return;
    this.#turnIsDue = true;
    setImmediate(() => {
      this.#turnIsDue = false;
      if (this.#open.size > 0) this.#settle();
    });
  }

  #settle(): void {
    const turn = this.#turn();
    for (const resolve of this.#waiting) resolve(turn);
    this.#waiting.clear();
  }

  #turn(): Turn {
    if (this.#outcome !== undefined) return { outcome: this.#outcome };
    const open = [...this.#open].map(([key, { request }]) => [key, { method: request.method, params: request.params }]);
    return { inputRequests: Object.fromEntries(open) as JsonObject, requestState: this.state };
  }
}

/** The calls that wait for their callers, by their state. */
export class ParkedCalls {
  readonly #calls = new Map<string, ParkedCall>();

  get size(): number {
    return this.#calls.size;
  }

  find(state: string, owner: string, toolName: string): ParkedCall | undefined {
    const call = this.#calls.get(state);
    return call?.owner === owner && call.toolName === toolName ? call : undefined;
  }

  /**
   * Keeps the call until it has ended. When there are too many, whoever has most of them makes room with the one that has waited
   * longest: nobody can drive the others out by leaving calls without an answer.
   */
  park(call: ParkedCall): void {
    if (this.#calls.has(call.state)) return;
    if (this.#calls.size >= MAX_PARKED) this.#makeRoom();
    this.#calls.set(call.state, call);
  }

  #makeRoom(): void {
    const held = new Map<string, number>();
    for (const { owner } of this.#calls.values()) held.set(owner, (held.get(owner) ?? 0) + 1);
    const heldBy = ({ owner }: ParkedCall): number => held.get(owner) ?? 0;
    // In the order in which they came, so that the first is the oldest. What a caller waits for now is no leftover.
    const [given] = [...this.#calls.values()]
      .filter((call) => !call.isWaitedFor)
      .sort((one, other) => heldBy(other) - heldBy(one));
    if (given === undefined) return;
    this.#calls.delete(given.state);
    given.cancel();
  }

  forget(call: ParkedCall): void {
    this.#calls.delete(call.state);
  }
}
