/**
 * From the messages that a kernel publishes about one run to the outputs of a cell, as nbformat 4.5 has them.
 *
 * Deterministic and without I/O: the same messages give the same outputs, however a stream was cut into messages. A
 * message costs what it carries, not what came before it.
 *
 * @see https://jupyter-client.readthedocs.io/en/stable/messaging.html#messages-on-the-iopub-pub-sub-channel
 */
import type { CellOutput, ErrorOutput } from "../notebook/nbformat.js";
import { DisplayRegistry, type DisplayTarget } from "./display-registry.js";
import { excerptOf } from "./excerpt.js";
import { asRecord, type OutputCut, storableBundle, storableMetadata } from "./mime-bundle.js";
import { type FixedSlot, OutputList, type OutputSlot } from "./output-list.js";
import { TerminalText } from "./terminal-text.js";
import { wellFormed } from "./well-formed.js";

/** The part of a kernel message that outputs are made from. */
export interface OutputMessage {
  header: { msg_type: string };
  content: Record<string, unknown>;
}

/** How much of a run's output is kept, in bytes of UTF-8. What goes over keeps its head and tail, and the gap is marked. */
export interface OutputLimits {
  /** One stretch of one stream. Default: 4 MiB. */
  maxStreamBytes: number;
  /** One representation of one display, result or error. Default: 16 MiB, above any image worth looking at. */
  maxEntryBytes: number;
  /** Outputs of one run. Default: 2,000. */
  maxOutputs: number;
  /** All outputs of one run. Default: 64 MiB. */
  maxBytes: number;
}

export const defaultOutputLimits: OutputLimits = {
  maxStreamBytes: 4 * 2 ** 20,
  maxEntryBytes: 16 * 2 ** 20,
  maxOutputs: 2_000,
  maxBytes: 64 * 2 ** 20,
};

export interface CellOutputsOptions {
  limits?: Partial<OutputLimits>;
  /** The kernel's displays. Default: a registry of this run's own, so that no other cell can update its displays. */
  displays?: DisplayRegistry;
  /** Called when a message of another run has updated a display of this one. */
  onForeignUpdate?: () => void;
}

/** @see the file comment */
export class CellOutputs {
  readonly #limits: OutputLimits;
  readonly #displays: DisplayRegistry;
  readonly #onForeignUpdate: () => void;
  readonly #list: OutputList;
  #executionCount: number | null = null;
  #clearBeforeNext = false;
  #applying = false;
  #version = 0;
  #sawError = false;
  readonly #followed = new Map<OutputSlot, { displayId: string } & DisplayTarget>();

  constructor({ limits = {}, displays, onForeignUpdate }: CellOutputsOptions = {}) {
    this.#limits = { ...defaultOutputLimits, ...limits };
    this.#displays = displays ?? new DisplayRegistry();
    this.#onForeignUpdate = onForeignUpdate ?? (() => {});
    this.#list = new OutputList(this.#limits, (slot) => this.#forget(slot));
  }

  /** The prompt number of the run, once the kernel has said it. */
  get executionCount(): number | null {
    return this.#executionCount;
  }

  /** Grows whenever {@link outputs} would answer something else than before. */
  get version(): number {
    return this.#version;
  }

  /** The outputs so far: a snapshot that later messages leave alone. */
  outputs(): CellOutput[] {
    return this.#list.outputs();
  }

  /**
   * Takes the next iopub message of the run. Messages of no interest, and malformed ones, change nothing.
   *
   * @returns whether the outputs changed
   */
  apply(message: OutputMessage): boolean {
    const before = this.#version;
    this.#applying = true;
    try {
      this.#take(message);
    } finally {
      this.#applying = false;
    }
    return this.#version > before;
  }

  /**
   * Takes the content of the `execute_reply`. It carries the error and the prompt number a second time, for when the
   * server has dropped the messages that had them, and what IPython would show in a pager (`len?`), for which a notebook
   * has no other place than the outputs.
   *
   * @returns whether the outputs changed
   */
  applyReply(content: Record<string, unknown>): boolean {
    const before = this.#version;
    this.#count(content.execution_count);
    for (const page of pagesOf(content.payload)) this.#display({ data: page });
    if (content.status === "error" && !this.#sawError) this.#error(content);
    return this.#version > before;
  }

  #take({ header, content }: OutputMessage): void {
    switch (header.msg_type) {
      case "execute_input":
        this.#count(content.execution_count);
        break;
      case "stream":
        this.#stream(content);
        break;
      case "display_data":
        this.#display(content);
        break;
      case "update_display_data":
        this.#updateDisplay(content);
        break;
      case "execute_result":
        this.#result(content);
        break;
      case "error":
        this.#error(content);
        break;
      case "clear_output":
        this.#clear(content.wait === true);
        break;
    }
  }

  #stream({ name, text }: Record<string, unknown>): void {
    if (typeof name !== "string" || typeof text !== "string" || text === "") return;
    this.#clearIfDue();
    const last = this.#list.last;
    if (last?.kind === "stream" && last.name === name) last.text.write(text);
    else this.#list.push(this.#newStream(name, text));
    this.#version++;
  }

  #newStream(name: string, text: string): OutputSlot {
    const terminal = new TerminalText(this.#limits.maxStreamBytes);
    terminal.write(text);
    return { kind: "stream", name, text: terminal };
  }

  #display(content: Record<string, unknown>): void {
    const { data, bytes, cut } = storableBundle(content.data, this.#limits.maxEntryBytes);
    const metadata = storableMetadata(content.metadata);
    this.#push({ output_type: "display_data", data, metadata }, bytes, cut, displayIdOf(content));
  }

  #result(content: Record<string, unknown>): void {
    this.#count(content.execution_count);
    const { data, bytes, cut } = storableBundle(content.data, this.#limits.maxEntryBytes);
    const metadata = storableMetadata(content.metadata);
    const output = { output_type: "execute_result", execution_count: this.#executionCount, data, metadata } as const;
    this.#push(output, bytes, cut, displayIdOf(content));
  }

  #error(content: Record<string, unknown>): void {
    this.#sawError = true;
    const { output, bytes, cut } = storableError(content, this.#limits.maxEntryBytes);
    this.#push(output, bytes, cut, undefined);
  }

  #push(output: FixedSlot["output"], bytes: number, cut: OutputCut | undefined, displayId: string | undefined): void {
    this.#clearIfDue();
    const slot: FixedSlot = { kind: "fixed", output, bytes, cut, displayId };
    if (displayId !== undefined) this.#follow(slot, displayId);
    this.#list.push(slot);
    this.#version++;
  }

  #updateDisplay(content: Record<string, unknown>): void {
    const displayId = displayIdOf(content);
    if (displayId !== undefined) this.#displays.update(displayId, content);
  }

  #follow(slot: FixedSlot, displayId: string): void {
    const target = { displayId, update: (content: Record<string, unknown>) => this.#replace(slot, content) };
    this.#followed.set(slot, target);
    this.#displays.add(displayId, target);
  }

  #replace(slot: FixedSlot, content: Record<string, unknown>): void {
    if (slot.output.output_type === "error") return;
    const maxBytes = Math.min(this.#limits.maxEntryBytes, this.#list.roomFor(slot));
    const { data, bytes, cut } = storableBundle(content.data, maxBytes);
    this.#list.resized(slot, bytes - slot.bytes);
    slot.output = { ...slot.output, data, metadata: storableMetadata(content.metadata) };
    slot.bytes = bytes;
    slot.cut = cut;
    this.#version++;
    if (!this.#applying) this.#onForeignUpdate();
  }

  #forget(slot: OutputSlot): void {
    const target = this.#followed.get(slot);
    if (!target) return;
    this.#followed.delete(slot);
    this.#displays.remove(target.displayId, target);
  }

  /** `wait` means: when there is something to show instead, so that the display does not flicker. */
  #clear(wait: boolean): void {
    this.#clearBeforeNext = wait;
    if (wait || !this.#list.last) return;
    this.#list.clear();
    this.#version++;
  }

  #clearIfDue(): void {
    if (this.#clearBeforeNext) this.#clear(false);
  }

  #count(executionCount: unknown): void {
    if (Number.isInteger(executionCount) && Number(executionCount) >= 0) this.#executionCount = Number(executionCount);
  }
}

/** `transient` exists for the display id alone and is never stored: the notebook format has no place for it. */
function displayIdOf(content: Record<string, unknown>): string | undefined {
  const displayId = asRecord(content.transient).display_id;
  return typeof displayId === "string" ? displayId : undefined;
}

function pagesOf(payload: unknown): Record<string, unknown>[] {
  const entries = Array.isArray(payload) ? payload.map(asRecord) : [];
  return entries.filter(({ source }) => source === "page").map(({ data }) => asRecord(data));
}

function storableError(
  { ename, evalue, traceback }: Record<string, unknown>,
  maxBytes: number,
): { output: ErrorOutput; bytes: number; cut: OutputCut | undefined } {
  const value = boundedText(evalue, maxBytes);
  const trace = boundedLines(Array.isArray(traceback) ? traceback.map(String) : [], maxBytes);
  const output: ErrorOutput = {
    output_type: "error",
    ename: boundedText(ename, maxBytes).text,
    evalue: value.text,
    traceback: trace.lines,
  };
  return { output, bytes: Buffer.byteLength(JSON.stringify(output)), cut: trace.cut ?? value.cut };
}

function boundedText(text: unknown, maxBytes: number): { text: string; cut: OutputCut | undefined } {
  const { head, tail, cut } = excerptOf(wellFormed(typeof text === "string" ? text : ""), { maxBytes });
  return { text: head + tail, cut };
}

function boundedLines(lines: string[], maxBytes: number): { lines: string[]; cut: OutputCut | undefined } {
  const { text, cut } = boundedText(lines.join("\n"), maxBytes);
  return { lines: cut ? text.split("\n") : lines.map(wellFormed), cut };
}
