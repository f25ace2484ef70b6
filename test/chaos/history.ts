/** What is kept of a seed's run: what clients sent and heard, what tools did, and what broke. All instants by the host's clock. */
import type { JsonObject } from "@claimcheck/core";
import type { Schedule, ToolName, Work } from "./schedule.js";

/** One request of a client, and what came of it. */
export interface Exchange {
  client: number;
  node: number;
  era: "2025" | "2026";
  method: string;
  params: JsonObject;
  sentAt: number;
  /** When the answer had come, or was given up. */
  endedAt: number;
  reply?: Reply;
  /** Why there is no reply: whether the request took effect is not known. */
  failed?: string;
}

export type Reply = { result: JsonObject } | { error: { code: number; message: string; data?: unknown } };

/** A call that a client made until it was acknowledged, or gave up. */
export interface Creation {
  client: number;
  tool: ToolName;
  work: Work;
  key?: string;
  /** Every id that it was acknowledged under, and when. */
  acknowledged: { taskId: string; at: number }[];
}

/** A line of the journal that the processes write, each as it happens. */
export type JournalLine = { at: number; node: number; pid: number } & (
  | { event: "opened" }
  /** A tool begins to run. */
  | {
      event: "start";
      run: string;
      taskId: string;
      epoch: number;
      owner: string;
      tool: ToolName;
      work: Work;
      resumeFrom?: unknown;
    }
  | { event: "checkpoint"; run: string; taskId: string; step: number }
  | { event: "end"; run: string; taskId: string; how: "returned" | "threw" | "stopped" }
  /** The event loop, or the store, kept this process waiting. */
  | { event: "late"; sinceAt: number; why: string }
);
export type Start = Extract<JournalLine, { event: "start" }>;

/** A fault as it took place; `node` is absent when it met all of them. */
export interface Disturbance {
  kind: string;
  node?: number;
  fromAt: number;
  untilAt: number;
}

export interface History {
  schedule: Schedule;
  beganAt: number;
  /** When everything that had broken worked again. */
  healedAt: number;
  /** From here on clients only read. */
  settledAt: number;
  exchanges: Exchange[];
  creations: Creation[];
  journal: JournalLine[];
  disturbances: Disturbance[];
  /** Processes that ended and were not told to. */
  crashes: { node: number; at: number; how: string }[];
}
