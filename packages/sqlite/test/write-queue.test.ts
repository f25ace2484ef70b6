import { describe, expect, test } from "vitest";
import type { Statement } from "../src/driver.js";
import type { Statements } from "../src/statements.js";
import { WriteQueue } from "../src/write-queue.js";

/** A queue on statements that only note what is run; `beginFails` says what goes wrong with the n-th BEGIN. */
function setUp(beginFails: (n: number) => Error | undefined = () => undefined, busyTimeoutMs = 1_000) {
  const checkFiles = (): void => {};
  const ran: string[] = [];
  const statement = (name: string): Pick<Statement, "run"> => ({
    run: () => {
      const failure = name === "begin" ? beginFails(ran.filter((done) => done === "begin").length) : undefined;
      ran.push(name);
      if (failure !== undefined) throw failure;
      return { changes: 0, lastInsertRowid: 0 };
    },
  });
  const statements = { begin: statement("begin"), commit: statement("commit"), rollback: statement("rollback") };
  return { ran, queue: new WriteQueue(statements as unknown as Statements, { busyTimeoutMs, checkFiles }) };
}

const busy = (): Error => Object.assign(new Error("database is locked"), { errcode: 5 });

describe("the write queue", () => {
  test("runs what is asked for in one turn in one transaction, in order", async () => {
    const { ran, queue } = setUp();
    const write = (name: string) => queue.add(() => ran.push(name) > 0 && name);
    expect(await Promise.all([write("a"), write("b"), write("c")])).toEqual(["a", "b", "c"]);
    expect(ran).toEqual(["begin", "a", "b", "c", "commit"]);
  });

  test("answers nothing before the commit", async () => {
    const { ran, queue } = setUp();
    let seen: string[] = [];
    await queue
      .add(() => {})
      .then(() => {
        seen = [...ran];
      });
    expect(seen).toContain("commit");
  });

  test("bounds a transaction", async () => {
    const { ran, queue } = setUp();
    await Promise.all(Array.from({ length: 150 }, () => queue.add(() => {})));
    expect(ran.filter((done) => done === "commit")).toHaveLength(3);
  });

  const LARGE = 1024 * 1024;

  test("has small writes wait for no large one but that which is under way", async () => {
    const { ran, queue } = setUp();
    const write = (name: string, length = 0) => queue.add(() => void ran.push(name), length);
    const large = Array.from({ length: 9 }, (_, n) => write(`large ${n}`, LARGE));
    await write("small", 100);
    expect(ran).toEqual(["begin", "small", "large 0", "large 1", "large 2", "large 3", "commit"]);
    const again = write("again", 100);
    await Promise.all([...large, again]);
    expect(ran.indexOf("again")).toBeLessThan(ran.indexOf("large 8"));
    expect(ran.filter((done) => done.startsWith("large"))).toEqual(Array.from({ length: 9 }, (_, n) => `large ${n}`));
  });

  test("goes on with large writes however many small ones come", async () => {
    const { ran, queue } = setUp();
    let isDone = false;
    const large = queue
      .add(() => {}, 100 * LARGE)
      .then(() => {
        isDone = true;
      });
    while (!isDone && ran.length < 1000) await queue.add(() => {});
    await large;
    expect(ran.filter((done) => done === "commit").length).toBeLessThan(4);
  });

  test("a write that fails takes no other with it", async () => {
    const { ran, queue } = setUp();
    const fails = () => {
      throw new Error("disk full");
    };
    const settled = await Promise.allSettled([queue.add(() => 1), queue.add(fails), queue.add(() => 3)]);
    expect(settled.map((result) => result.status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(ran.slice(0, 2)).toEqual(["begin", "rollback"]);
    expect(ran.filter((done) => done === "commit")).toHaveLength(2);
  });

  test("waits for a lock that another process holds", async () => {
    const { ran, queue } = setUp((n) => (n < 3 ? busy() : undefined));
    expect(await queue.add(() => "done")).toBe("done");
    expect(ran).toEqual(["begin", "begin", "begin", "begin", "commit"]);
  });

  test("gives up a lock that is not let go of, for all who wait, and goes on afterwards", async () => {
    let held = true;
    const { queue } = setUp(() => (held ? busy() : undefined), 30);
    const settled = await Promise.allSettled([queue.add(() => 1), queue.add(() => 2)]);
    expect(settled.map((result) => result.status)).toEqual(["rejected", "rejected"]);
    held = false;
    expect(await queue.add(() => 3)).toBe(3);
  });

  test("is settled once everything asked for has been answered", async () => {
    const { queue } = setUp();
    const answered: number[] = [];
    for (let n = 0; n < 100; n += 1) void queue.add(() => {}).then(() => answered.push(n));
    await queue.settled();
    expect(answered).toHaveLength(100);
  });
});
