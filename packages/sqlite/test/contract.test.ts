import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "@claimcheck/core";
import { type StoreHarness, storeContract } from "@claimcheck/store-contract";
import { describe, test } from "vitest";
import { openHandles } from "../../../test/fixtures/store-handles.js";
import { SqliteStore } from "../src/index.js";

/** A store on a file of its own. The clock is set by hand; only its timers are the host's. */
async function open(): Promise<StoreHarness> {
  const folder = mkdtempSync(join(tmpdir(), "claimcheck-sqlite-contract-"));
  let aheadMs = 0;
  const clock = { ...systemClock, now: () => Date.now() + aheadMs };
  const path = join(folder, "tasks.db");
  const { close, ...handles } = await openHandles(() => new SqliteStore({ path, clock, signalIntervalMs: 5 }));
  return {
    ...handles,
    now: clock.now,
    advance: (ms) => {
      aheadMs += ms;
    },
    close: async () => {
      await close();
      rmSync(folder, { recursive: true });
    },
  };
}

describe("the SQLite store", () => {
  // Its back end is a file: there is no line to it that could be cut.
  storeContract({ test, open, without: ["outage"] });
});
