import { FakeClock, settle } from "@claimcheck/core/testing";
import { describe, expect, it } from "vitest";
import { type Flushable, Flusher } from "../src/flusher.js";

/** Says when it was written, `bytes` at a time. */
class Item implements Flushable {
  readonly writes: number[] = [];
  fails = false;
  readonly #clock: FakeClock;
  readonly #bytes: number;

  constructor(clock: FakeClock, bytes = 10) {
    this.#clock = clock;
    this.#bytes = bytes;
  }

  async flush(): Promise<number> {
    this.writes.push(this.#clock.now());
    if (this.fails) throw new Error("no");
    return this.#bytes;
  }
}

describe("a flusher", () => {
  it("writes a first report at once and later ones at most ten times a second, the last one always", async () => {
    const clock = new FakeClock(0);
    const flusher = new Flusher(clock);
    const item = new Item(clock);
    for (let ms = 0; ms < 1000; ms += 1) {
      flusher.mark(item);
      await clock.advance(1);
    }
    await clock.advance(1000);
    expect(item.writes[0]).toBe(0);
    expect(item.writes.length).toBeGreaterThan(5);
    expect(item.writes.length).toBeLessThanOrEqual(11);
    expect(item.writes.at(-1)).toBeGreaterThanOrEqual(999);
    expect(clock.pending).toBe(0);
  });

  it("writes the less often the more there is, but not less than every five seconds", async () => {
    for (const [bytes, everyMs] of [
      [100_000, 100],
      [1_000_000, 1000],
      [10 ** 9, 5000],
    ] as const) {
      const clock = new FakeClock(0);
      const flusher = new Flusher(clock);
      const item = new Item(clock, bytes);
      for (let step = 0; step < 400; step += 1) {
        flusher.mark(item);
        await clock.advance(50);
      }
      const gaps = item.writes.slice(1).map((at, n) => at - (item.writes[n] as number));
      expect(Math.min(...gaps)).toBeGreaterThanOrEqual(everyMs);
      expect(Math.max(...gaps)).toBeLessThan(everyMs + 200);
    }
  });

  it("runs one timer for any number of items, and none when nobody has anything to say", async () => {
    const clock = new FakeClock(0);
    const flusher = new Flusher(clock);
    const items = Array.from({ length: 100 }, () => new Item(clock));
    for (const item of items) flusher.mark(item);
    await settle();
    expect(clock.pending).toBe(0);
    for (const item of items) flusher.mark(item);
    expect(clock.pending).toBe(1);
    await clock.advance(200);
    for (const item of items) expect(item.writes).toHaveLength(2);
    expect(clock.pending).toBe(0);
  });

  it("tries again, a second later each time, until a write succeeds or the item is dropped", async () => {
    const clock = new FakeClock(0);
    const flusher = new Flusher(clock);
    const item = new Item(clock);
    item.fails = true;
    flusher.mark(item);
    await clock.advance(5000);
    expect(item.writes.length).toBeGreaterThanOrEqual(4);
    expect(item.writes.length).toBeLessThanOrEqual(6);
    item.fails = false;
    await clock.advance(2000);
    const writes = item.writes.length;
    await clock.advance(10_000);
    expect(item.writes).toHaveLength(writes);
    item.fails = true;
    flusher.mark(item);
    await settle();
    flusher.drop(item);
    await clock.advance(10_000);
    expect(item.writes.length).toBeLessThanOrEqual(writes + 1);
    expect(clock.pending).toBe(0);
  });

  it("once closed writes nothing more of what was said", async () => {
    const clock = new FakeClock(0);
    const flusher = new Flusher(clock);
    const item = new Item(clock);
    flusher.mark(item);
    flusher.mark(item);
    flusher.close();
    await clock.advance(1000);
    expect(item.writes).toEqual([0]);
    expect(clock.pending).toBe(0);
  });
});
