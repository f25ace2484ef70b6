import { describe, expect, test } from "vitest";
import { allGroups } from "../src/index.js";
import { NO_PROMISE, promisesOf, readStoreInterface } from "./promises.js";

const promises = promisesOf(readStoreInterface());
const cases = allGroups.flatMap((group) => group.cases);

describe("the cases and the interface's doc comments", () => {
  test("the reader finds what it looks for", () => {
    expect(promises).toContain("Of any number of concurrent updates from one version, one wins");
    expect(promises).toContain("a function that stops the calls");
    expect(promises.length).toBeGreaterThan(30);
  });

  test("every promise has a case of the same title", () => {
    const titles = new Set(cases.map((contractCase) => contractCase.title));
    expect(promises.filter((promise) => !titles.has(promise) && !(promise in NO_PROMISE))).toEqual([]);
  });

  test("every case states a promise of the interface, and names it in its title", () => {
    for (const { promise, title } of cases) {
      expect(promises).toContain(promise);
      expect(title === promise || title.startsWith(`${promise} — `), title).toBe(true);
    }
  });

  test("a sentence without a case is in the interface, has none, and says why", () => {
    for (const [sentence, reason] of Object.entries(NO_PROMISE)) {
      expect(promises).toContain(sentence);
      expect(cases.map((contractCase) => contractCase.promise)).not.toContain(sentence);
      expect(reason, sentence).not.toBe("");
    }
  });

  test("no two cases have one title", () => {
    const titles = cases.map((contractCase) => contractCase.title);
    expect(titles.filter((title, at) => titles.indexOf(title) !== at)).toEqual([]);
  });
});
