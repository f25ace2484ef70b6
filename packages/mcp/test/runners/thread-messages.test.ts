import { isTaskError, TaskError } from "@claimcheck/core";
import { expect, it } from "vitest";
import { thrownMessage, thrownOf } from "../../src/runners/thread-messages.js";

/** `thrown` as the other thread has it. */
const across = (thrown: unknown): unknown => thrownOf(structuredClone(thrownMessage(thrown)));

it("a task error that crosses is known as one, with its code and data", () => {
  const data = { bytes: 12, maxBytes: 10, option: "maxResultBytes" };
  const crossed = across(new TaskError("too_large", "The result has 12 bytes.", { data }));
  expect(isTaskError(crossed)).toBe(true);
  expect(crossed).toMatchObject({ name: "TaskError", code: "too_large", message: "The result has 12 bytes.", data });
});

it("an error of somebody else's that is called a task error is none", () => {
  const crossed = across(Object.assign(new Error("no"), { name: "TaskError", code: "E_BURNT" }));
  expect(isTaskError(crossed)).toBe(false);
  expect(crossed).toMatchObject({ name: "TaskError", code: "E_BURNT", message: "no" });
});
