import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "@claimcheck/core";
import { type StoreHarness, storeContract } from "@claimcheck/store-contract";
import { describe, test } from "vitest";
import { SqliteStore } from "../src/index.js";

/** A store on a file of its own. The clock is set by hand; only its timers are the host's. */
async function open(): Promise<StoreHarness> {
  const folder = mkdtempSync(join(tmpdir(), "claimcheck-sqlite-contract-"));
  let aheadMs = 0;
  const clock = { ...systemClock, now: () => Date.now() + aheadMs };
  const stores: SqliteStore[] = [];
  const openStore = async (): Promise<SqliteStore> => {
    const store = new SqliteStore({ path: join(folder, "tasks.db"), clock, signalIntervalMs: 5 });
    stores.push(store);
    await store.open();
    return store;
  };
  const store = await openStore();
  return {
    store,
    now: clock.now,
    advance: (ms) => {
      aheadMs += ms;
    },
    openAnother: openStore,
    reopen: async () => {
      await store.close();
      return openStore();
    },
    close: async () => {
      await Promise.all(stores.map((opened) => opened.close()));
      rmSync(folder, { recursive: true });
    },
  };
}

describe("the SQLite store", () => {
  // Its back end is a file: there is no line to it that could be cut.
  storeContract({ test, open, without: ["outage"] });
});
