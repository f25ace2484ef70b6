/** What a check gets, and what many of them begin with. */
import { randomUUID } from "node:crypto";
import { onTestFinished } from "vitest";
import { eventually } from "../../fixtures/eventually.js";
import { type Client, resultOf, type WireTask } from "../../protocol/client.js";
import type { Serving } from "../../protocol/serving.js";
import type { RequirementId } from "../requirements.js";

/** One transport and one dialect. Server and client are shared with the other checks. */
export interface Peer {
  serving: Serving;
  client: Client;
}

export type Check = (peer: Peer) => Promise<void>;

/** A check for each requirement of a document, and for nothing else. */
export type ChecksOf<Prefix extends string> = Record<Extract<RequirementId, `${Prefix}/${string}`>, Check>;

export interface HeldTask extends WireTask {
  /** Lets the work end. */
  letGo(): Promise<void>;
  /** What happened to the work, in order. */
  notes(): Promise<string[]>;
}

export const ENDS = ["completed", "failed", "cancelled"];

export const isInstant = (text: unknown): boolean =>
  typeof text === "string" && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(text);

/** A task whose work has begun and does not end before it is let go, or cancelled, or the check is over. */
export async function held(client: Client, args: object = {}, extra: Record<string, unknown> = {}): Promise<HeldTask> {
  const gate = randomUUID();
  const letGo = async (): Promise<void> => void (await client.call("open_gate", { gate }));
  const notes = async (): Promise<string[]> => {
    const { structuredContent } = resultOf(await client.call("look", { gate }));
    return (structuredContent as { notes: string[] }).notes;
  };
  const task = await client.create("hold", { gate, ...args }, extra);
  onTestFinished(letGo);
  await eventually(async () => (await notes()).includes("started"));
  return { ...task, letGo, notes };
}

/** The names of all ids under which a client lists tasks, page by page. */
export async function listed(client: Client): Promise<WireTask[]> {
  const tasks: WireTask[] = [];
  let cursor: unknown;
  do {
    const page = resultOf(await client.request("tasks/list", cursor === undefined ? {} : { cursor }));
    tasks.push(...(page.tasks as WireTask[]));
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return tasks;
}

/** Whether random ids use all of the room that they seem to have: 22 characters of base64url, none of them fixed. */
export function lookRandom(ids: readonly string[]): boolean {
  const tails = ids.map((id) => id.slice(-22));
  const fits = tails.every((tail) => /^[A-Za-z0-9_-]{22}$/.test(tail));
  // The last character holds two bits only.
  const varied = Array.from({ length: 21 }, (_, at) => new Set(tails.map((tail) => tail[at])).size > ids.length / 4);
  return fits && varied.every(Boolean) && new Set(tails).size === ids.length;
}
