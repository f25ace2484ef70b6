import { FakeClock } from "@claimcheck/core/testing";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { allGroups, runCase, type StoreHarness, storeContract } from "../src/index.js";
import { Backend, PlainStore } from "./plain-store.js";
import { WRONG_STORES } from "./wrong-stores/index.js";

type StoreClass = new (backend: Backend) => PlainStore;

const titles = allGroups.flatMap((group) => group.cases.map((contractCase) => contractCase.title));

function opener(Store: StoreClass): () => Promise<StoreHarness> {
  return async () => {
    const clock = new FakeClock();
    const backend = new Backend(clock);
    const open = async (): Promise<PlainStore> => {
      const store = new Store(backend);
      await store.open();
      return store;
    };
    const advance = (ms: number) => clock.advance(ms);
    const setOut = (isOut: boolean) => (): void => {
      backend.isOut = isOut;
    };
    const outage = { begin: setOut(true), end: setOut(false) };
    const store = await open();
    return { store, now: () => clock.now(), advance, openAnother: open, reopen: open, outage, close: () => {} };
  };
}

// All cases run at once, and none that is kept may be late by what the others take.
const LIMITS = { signalWithinMs: 500, outageWithinMs: 1500, largestValueBytes: 2 ** 20 + 5_000 };

/** The titles of the cases that `Store` fails. */
async function failedBy(Store: StoreClass): Promise<string[]> {
  const failed: string[] = [];
  const runs = allGroups
    .flatMap((group) => group.cases)
    .map((contractCase) =>
      runCase(contractCase, { open: opener(Store), ...LIMITS }).catch(() => failed.push(contractCase.title)),
    );
  await Promise.all(runs);
  return failed.sort((a, b) => titles.indexOf(a) - titles.indexOf(b));
}

describe("the plain store that the wrong ones derive from", () => {
  storeContract({ test, open: opener(PlainStore) });
});

describe("a store that is wrong in one way fails exactly the cases on it", () => {
  beforeEach(() => {
    vi.spyOn(process.stderr, "write").mockReturnValue(true);
  });
  afterEach(() => {
    vi.restoreAllMocks();
  });

  for (const wrong of WRONG_STORES) {
    test(wrong.name, async () => {
      expect(await failedBy(wrong.store)).toEqual(wrong.fails);
    });
  }

  test("each case has a store that it rejects", () => {
    const rejected = new Set(WRONG_STORES.flatMap((wrong) => wrong.fails));
    expect(titles.filter((title) => !rejected.has(title))).toEqual([]);
  });
});
