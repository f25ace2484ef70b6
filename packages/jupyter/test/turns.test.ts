import { setImmediate } from "node:timers/promises";
import { expect, it } from "vitest";
import { Turns } from "../src/turns.js";

/** Work that ends when it is told to, and a note of when it began. */
function work(began: string[], name: string) {
  const { promise, resolve, reject } = withResolvers();
  const begin = () => {
    began.push(name);
    return promise;
  };
  return { begin, resolve, reject };
}

function withResolvers() {
  let resolve: (value: string) => void = () => {};
  let reject: (error: Error) => void = () => {};
  const promise = new Promise<string>((settle, fail) => {
    resolve = settle;
    reject = fail;
  });
  return { promise, resolve, reject };
}

it("work on one key is done in order, also after work that failed; other keys do not wait", async () => {
  const turns = new Turns();
  const began: string[] = [];
  const [first, second, other] = ["first", "second", "other"].map((name) => work(began, name));
  if (!first || !second || !other) throw new Error("three");
  const failed = turns.take("a", first.begin).catch((error: Error) => error.message);
  const done = turns.take("a", second.begin);
  const beside = turns.take("b", other.begin);
  await setImmediate();
  expect(began).toEqual(["first", "other"]);
  first.reject(new Error("no"));
  expect(await failed).toBe("no");
  await setImmediate();
  expect(began).toEqual(["first", "other", "second"]);
  second.resolve("yes");
  other.resolve("too");
  expect([await done, await beside]).toEqual(["yes", "too"]);
});

it("ended waits for work under way, and rejects for none that fails", async () => {
  const turns = new Turns();
  const { begin, reject } = work([], "it");
  const failed = turns.take("a", begin).catch((error: Error) => error.message);
  let isEnded = false;
  const ended = turns.ended().then(() => {
    isEnded = true;
  });
  await setImmediate();
  expect(isEnded).toBe(false);
  reject(new Error("no"));
  await ended;
  expect(await failed).toBe("no");
  await turns.ended();
});
