import { FakeClock } from "@claimcheck/core/testing";
import { expect, it } from "vitest";
import { recordLog } from "../../../test/fixtures/log-recorder.js";
import { SparingLogger } from "../src/sparing-logger.js";

it("says each sentence once in ten seconds, and then how often it was not said", async () => {
  const clock = new FakeClock();
  const log = recordLog();
  const sparing = new SparingLogger(log, () => clock.elapsed());
  for (let n = 0; n < 300; n += 1) {
    sparing.warn({ n }, "gone");
    sparing.error({ n }, "lost");
    await clock.advance(100);
  }
  sparing.warn({}, "gone");
  expect(log.lines.filter(({ message }) => message === "gone")).toEqual([
    { level: "warn", fields: { n: 0 }, message: "gone" },
    { level: "warn", fields: { n: 100, leftOut: 99 }, message: "gone" },
    { level: "warn", fields: { n: 200, leftOut: 99 }, message: "gone" },
    { level: "warn", fields: { leftOut: 99 }, message: "gone" },
  ]);
  expect(log.lines.filter(({ level }) => level === "error")).toHaveLength(3);
});

it("says at every level what is new", () => {
  const log = recordLog();
  const sparing = new SparingLogger(log, () => 0);
  for (const level of ["debug", "info", "warn", "error"] as const) sparing[level]({}, level);
  expect(log.lines.map(({ level, message }) => [level, message])).toEqual(
    ["debug", "info", "warn", "error"].map((level) => [level, level]),
  );
});
