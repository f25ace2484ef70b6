import { Outage } from "@claimcheck/core";
import { expect, test } from "vitest";
import { recordLog } from "../../../test/fixtures/log-recorder.js";

test("an outage is said once when it begins and once when it is over", () => {
  const logger = recordLog();
  const outage = new Outage(logger, "The server");
  outage.over();
  for (let n = 0; n < 5; n += 1) outage.noticed(new Error("refused"));
  expect(outage.isOngoing).toBe(true);
  outage.over();
  outage.over();
  expect(outage.isOngoing).toBe(false);
  expect(logger.lines.map(({ level, message }) => [level, message])).toEqual([
    ["warn", "The server cannot be reached; trying again"],
    ["info", "The server can be reached again"],
  ]);
});
