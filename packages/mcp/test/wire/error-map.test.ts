import { TASK_ERRORS, TaskError } from "@claimcheck/core";
import { expect, it } from "vitest";
import { noSuchTask } from "../../src/dialects/dialect.js";
import { faultOf, wireError } from "../../src/wire/error-map.js";

// Numbers are literals here: a wrong one in the source must not be right because it is wrong twice.
it.each([
  ["no_such_task", -32602],
  ["invalid_ttl", -32602],
  ["invalid_idempotency_key", -32602],
  ["idempotency_conflict", -32602],
  ["invalid_arguments", -32602],
  ["invalid_cursor", -32602],
  ["invalid_answer", -32602],
  ["unknown_tool", -32602],
  ["limit_reached", -32005],
  ["too_large", -32602],
  ["not_open", -32603],
  ["store_unusable", -32603],
  ["task_required", -32601],
  ["task_unsupported", -32601],
  ["extension_required", -32021],
  ["invalid_params", -32602],
  ["identity_required", -32600],
  ["method_not_found", -32601],
  ["result_not_ready", -32602],
  ["already_terminal", -32602],
  ["no_result", -32603],
  ["tool_failed", -32603],
  ["internal", -32603],
] as const)("%s is %i", (code, number) => {
  expect(wireError({ code, message: "m" })).toEqual({ code: number, message: "m" });
});

it("every code of the runtime has a number of its own choosing", () => {
  const codes = Object.keys(TASK_ERRORS) as (keyof typeof TASK_ERRORS)[];
  expect(codes.length).toBeGreaterThan(5);
  for (const code of codes) expect(wireError(faultOf(new TaskError(code, "m"))).code).toBeLessThan(0);
});

it("a code that a newer runtime invents blames the server, not the caller", () => {
  expect(wireError({ code: "brand_new" as never, message: "m" }).code).toBe(-32603);
});

it("data travels along, and is absent where there is none", () => {
  expect(wireError({ code: "limit_reached", message: "m", data: { retryAfterMs: 5 } })).toEqual({
    code: -32005,
    message: "m",
    data: { retryAfterMs: 5 },
  });
  expect(wireError(noSuchTask())).toEqual({ code: -32602, message: "No such task." });
});
