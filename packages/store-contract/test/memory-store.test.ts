import { readFileSync } from "node:fs";
import { MemoryStore } from "@claimcheck/core";
import { FakeClock } from "@claimcheck/core/testing";
import { describe, expect, test } from "vitest";
import { type StoreHarness, storeContract } from "../src/index.js";

// It lives in one object of one process: nothing outlives it, and nobody else could be signalled to.
const WITHOUT = ["signals", "reopen", "openAnother", "outage"] as const;

function open(): StoreHarness {
  const clock = new FakeClock();
  const store = new MemoryStore({ clock });
  return { store, now: () => clock.now(), advance: (ms) => clock.advance(ms), close: () => {} };
}

describe("the memory store", () => {
  storeContract({ test, open, without: WITHOUT });
});

test("the README's example is without the same", () => {
  const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
  expect(/without: (\[.*\])/.exec(readme)?.[1]).toBe(JSON.stringify(WITHOUT).replaceAll(",", ", "));
});
