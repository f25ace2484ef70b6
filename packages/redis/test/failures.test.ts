import { expect, test } from "vitest";
import { failureOf, isConnectionLost, isScriptUnknown, RedisFailure } from "../src/failures.js";

const WHERE = "Redis at db:6379";

test("what is passed on carries no command and no argument", () => {
  const reply = new Error("ERR unknown command 'EVALX', with args beginning with: 'secret payload'");
  const passed = failureOf(Object.assign(reply, { command: { name: "evalx", args: ["secret payload"] } }), WHERE);
  expect(passed).toBeInstanceOf(RedisFailure);
  expect(passed.message).toBe("Redis at db:6379: ERR unknown command 'EVALX'.");
  expect(Object.keys(passed)).toEqual(["code"]);
});

test("a broken connection is told by what it said last, and by what to check", () => {
  const given = Object.assign(new Error("Reached the max retries per request limit (which is 0)."), {
    name: "MaxRetriesPerRequestError",
  });
  const passed = failureOf(given, WHERE, new Error("connect ECONNREFUSED 10.0.0.1:6379"));
  expect(passed.message).toBe(
    "Redis at db:6379: cannot be reached (connect ECONNREFUSED 10.0.0.1:6379). Check host and port in the URL, and that the server runs.",
  );
  expect(isConnectionLost(passed)).toBe(true);
});

test("a reply is no broken connection, and keeps its code", () => {
  const passed = failureOf(new Error("OOM command not allowed when used memory > 'maxmemory'."), WHERE);
  expect(passed.code).toBe("OOM");
  expect(isConnectionLost(passed)).toBe(false);
  expect(passed.message).toContain("Raise maxmemory on the server");
});

test("a server that has not seen a script is told apart from one that failed it", () => {
  expect(isScriptUnknown(failureOf(new Error("NOSCRIPT No matching script."), "Redis"))).toBe(true);
  expect(isScriptUnknown(failureOf(new Error("ERR NOSCRIPT"), "Redis"))).toBe(false);
});
