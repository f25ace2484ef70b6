/** What a kernel keeps of our runs inside itself, for whoever has to collect a run that another process began. */
import { type Clock, LATE, systemClock, within } from "@claimcheck/core";
import type { KernelConnection } from "./connection.js";
import { RECORDER_CODE } from "./recorder-code.js";
import type { KernelMessage, MessageHeader } from "./wire.js";

/** Everything that was published about one run, in order. */
export interface KernelLog {
  /** False: the kernel has not begun with the run, or never got it. */
  isKnown: boolean;
  messages: KernelMessage[];
  /** How many of the oldest messages had to make room. */
  dropped: number;
}

/** What a kernel says of itself and, where it records, of a run. */
export interface RecorderAnswer {
  /** Names the kernel's process; undefined for kernels that do not say it. */
  process: string | undefined;
  /** Undefined: this process of the kernel records nothing. */
  log: KernelLog | undefined;
}

/** A kernel that answers on control only between its runs is not waited for. */
const ANSWER_MS = 2_000;

/** The recorder of one kernel; see {@link RECORDER_CODE}. */
export class Recorder {
  readonly #connection: KernelConnection;
  readonly #clock: Clock;
  #begun: Promise<{ process: string | undefined; isRecording: boolean }> | undefined;

  constructor(connection: KernelConnection, clock: Clock = systemClock) {
    this.#connection = connection;
    this.#clock = clock;
    connection.subscribe((event) => {
      if (event.type === "kernel") this.#begun = undefined;
    });
  }

  /**
   * Has the kernel record, from the next run that is sent to it. Resolves with which process of the kernel that is, and whether
   * it records: other kernels than IPython's do not, and one that does not answer in time is not known to. Never rejects.
   */
  begin(): Promise<{ process: string | undefined; isRecording: boolean }> {
    this.#begun ??= this.#begin().catch(() => {
      this.#begun = undefined;
      return { process: undefined, isRecording: false };
    });
    return this.#begun;
  }

  async #begin(): Promise<{ process: string | undefined; isRecording: boolean }> {
    const reply = await within(this.#clock, ANSWER_MS, this.#ask({}));
    if (reply === LATE) throw new Error("The kernel did not say in time what it is.");
    const process = processOf(reply);
    if (reply.content.claimcheck !== undefined) return { process, isRecording: true };
    if (reply.content.implementation !== "ipython") return { process, isRecording: false };
    this.#connection.prepare(RECORDER_CODE);
    return { process, isRecording: true };
  }

  /**
   * Asks for what the kernel has of a run.
   * @throws JupyterError when the kernel will not answer
   */
  async read(msgId: string): Promise<RecorderAnswer> {
    const messages: KernelMessage[] = [];
    for (let from = 0; ; ) {
      const reply = await this.#ask({ log: msgId, from });
      const page = pageOf(reply);
      if (page === undefined) return { process: processOf(reply), log: undefined };
      messages.push(...page.messages.map((message) => recorded(message, msgId)));
      if (!page.more) {
        const { known: isKnown, dropped } = page;
        return { process: processOf(reply), log: { isKnown, messages, dropped } };
      }
      from = page.next;
    }
  }

  #ask(query: object): Promise<KernelMessage> {
    return this.#connection.request({
      channel: "control",
      type: "kernel_info_request",
      content: { claimcheck: query },
    });
  }
}

/** Some kernels copy the session of the request. */
function processOf({ header, parent_header }: KernelMessage): string | undefined {
  return header.session === parent_header.session ? undefined : header.session;
}

interface Page {
  known: boolean;
  messages: string[][];
  next: number;
  more: boolean;
  dropped: number;
}

function pageOf({ content }: KernelMessage): Page | undefined {
  const { claimcheck } = content;
  if (typeof claimcheck !== "object" || claimcheck === null) return undefined;
  const { known, messages, next, more, dropped } = claimcheck as Partial<Page>;
  return {
    known: known === true,
    messages: Array.isArray(messages) ? messages : [],
    next: typeof next === "number" ? next : 0,
    more: more === true,
    dropped: typeof dropped === "number" ? dropped : 0,
  };
}

function recorded([header = "{}", metadata = "{}", content = "{}"]: string[], msgId: string): KernelMessage {
  return {
    channel: "iopub",
    header: JSON.parse(header) as MessageHeader,
    parent_header: { msg_id: msgId },
    metadata: JSON.parse(metadata) as Record<string, unknown>,
    content: JSON.parse(content) as Record<string, unknown>,
    buffers: [],
  };
}
