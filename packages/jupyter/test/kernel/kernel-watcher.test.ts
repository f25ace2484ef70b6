import { describe, expect, test } from "vitest";
import { KernelWatcher } from "../../src/kernel/kernel-watcher.js";
import { createMessage } from "../../src/kernel/messages.js";
import type { KernelChannel, KernelMessage } from "../../src/kernel/wire.js";

const OURS = "ours";

/** A message of `session` in answer to a request of `askedBy`. */
function said(
  session: string,
  type: string,
  content: Record<string, unknown> = {},
  askedBy?: string,
  channel: KernelChannel = "iopub",
): KernelMessage {
  const by = (sessionId: string) => ({ sessionId, username: "u" });
  const parent =
    askedBy === undefined ? undefined : createMessage(by(askedBy), { channel: "shell", type: "x_request" });
  return createMessage(by(session), { channel, type, content, ...(parent === undefined ? {} : { parent }) });
}

function status(session: string, state: string, askedBy?: string): KernelMessage {
  return said(session, "status", { execution_state: state }, askedBy);
}

function changes(...messages: KernelMessage[]): unknown[] {
  const watcher = new KernelWatcher();
  return messages.map((message) => watcher.observe(message));
}

describe("a kernel's process", () => {
  test("is replaced when another session answers, once", () => {
    const seen = changes(status("a", "busy", OURS), status("b", "busy", OURS), status("b", "idle", OURS));
    expect(seen).toEqual([undefined, "replaced", undefined]);
  });

  test("is not replaced by the last words of the one before", () => {
    const seen = changes(status("a", "busy", OURS), status("b", "starting"), status("a", "idle", OURS));
    expect(seen).toEqual([undefined, "replaced", undefined]);
  });

  test("shows itself by its welcome before anybody asks", () => {
    expect(changes(status("a", "busy", OURS), said("b", "iopub_welcome"))).toEqual([undefined, "replaced"]);
  });

  test("is not replaced because another client asked a kernel that copies the asker's session", () => {
    expect(changes(status(OURS, "busy", OURS), status("other", "busy", "other"))).toEqual([undefined, undefined]);
  });

  test("is known by iopub alone: other channels may carry other sessions", () => {
    const seen = changes(status("a", "busy", OURS), said("b", "execute_reply", {}, OURS, "shell"));
    expect(seen).toEqual([undefined, undefined]);
  });

  test("died or is dead when the server says so, and not when a cell prints it", () => {
    expect(changes(status(OURS, "restarting"), status(OURS, "dead"))).toEqual(["died", "dead"]);
    expect(changes(status("a", "dead", OURS))).toEqual([undefined]);
  });

  test("announces its end, and whether it will come back", () => {
    const end = (restart: boolean) => said("a", "shutdown_reply", { restart }, "server");
    expect(changes(status("a", "busy", OURS), end(true))).toEqual([undefined, "restarting"]);
    expect(changes(status("a", "busy", OURS), end(false))).toEqual([undefined, "shutdown"]);
  });
});
