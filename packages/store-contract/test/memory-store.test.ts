import { MemoryStore } from "@claimcheck/core";
import { FakeClock } from "@claimcheck/core/testing";
import { describe, test } from "vitest";
import { type StoreHarness, storeContract } from "../src/index.js";

function open(): StoreHarness {
  const clock = new FakeClock();
  const store = new MemoryStore({ clock });
  return { store, now: () => clock.now(), advance: (ms) => clock.advance(ms), close: () => {} };
}

describe("the memory store", () => {
  // It lives in one object of one process: nothing outlives it, and nobody else could be signalled to.
  storeContract({ test, open, without: ["signals", "reopen", "openAnother", "outage"] });
});
