import { describe, expect, test } from "vitest";
import type { ExecutionEnd } from "../../src/kernel/index.js";
import { type ExecutionFacts, executionResult } from "../../src/tools/execution-report.js";

const NOTHING_MISSING = {
  rateLimited: false,
  reconnected: false,
  tooLarge: false,
  unconfirmed: false,
  unrecorded: false,
};

function ended(state: ExecutionEnd["state"], more: object = {}): ExecutionEnd {
  const facts = {
    executionCount: 4,
    startedAt: 1_000,
    endedAt: 3_500,
    interruptSent: false,
    incomplete: NOTHING_MISSING,
  };
  return { ...facts, state, ...more } as ExecutionEnd;
}

function facts(more: Partial<ExecutionFacts>): ExecutionFacts {
  return {
    executionId: "exe_1",
    kernel: { id: "k1", origin: "same" },
    rendering: { content: [{ type: "text", text: "out" }], omitted: undefined },
    end: ended("completed", { reply: {} }),
    limit: undefined,
    executionCount: 4,
    startedAt: 1_000,
    now: 9_000,
    waitLimitMs: 50_000,
    interruptAfterMs: undefined,
    ...more,
  };
}

const ERROR = { error: { ename: "ValueError", evalue: "no", traceback: ["…"] }, reply: {} };

test("a run that completed says its outputs and nothing else", () => {
  expect(executionResult(facts({}))).toEqual({
    content: [{ type: "text", text: "out" }],
    structuredContent: {
      status: "completed",
      execution_id: "exe_1",
      execution_count: 4,
      duration_ms: 2_500,
      kernel: { id: "k1", origin: "same" },
      output: "out",
    },
  });
});

describe("each way to end", () => {
  test.each([
    ["errored", ERROR, undefined],
    ["interrupted", { ...ERROR, interruptSent: true }, "[interrupted]"],
    ["kernel_died", { reason: "out of memory" }, /\[kernel k1 died: out of memory\. Its variables are lost/],
    ["kernel_restarted", { reason: "by a person" }, /\[kernel k1 was restarted during the run: by a person/],
    [
      "connection_lost",
      { reason: "cut" },
      /\[the connection to kernel k1 was lost: cut\. Whether the code ran to its end is not known/,
    ],
    [
      "aborted",
      { cause: "earlier_failure", reason: "a cell before it failed" },
      /\[it never ran, and may be sent again: a cell before it failed\]/,
    ],
  ] as const)("%s is an error, typed and told", (state, more, note) => {
    const result = executionResult(facts({ end: ended(state, more) }));
    expect(result).toMatchObject({ isError: true, structuredContent: { status: state } });
    const text = result.structuredContent.output;
    if (note === undefined) expect(text).toBe("out");
    else if (typeof note === "string") expect(text).toContain(note);
    else expect(text).toMatch(note);
  });

  test("an exception is named", () => {
    const { structuredContent } = executionResult(facts({ end: ended("errored", ERROR) }));
    expect(structuredContent.error).toEqual({ ename: "ValueError", evalue: "no" });
  });
});

describe("a run that goes on", () => {
  test("after the waiting limit is no error, and says how the rest is had", () => {
    const result = executionResult(facts({ end: undefined, limit: "timeout" }));
    expect(result.isError).toBeUndefined();
    expect(result.structuredContent).toMatchObject({ status: "still_running", limit: "timeout", duration_ms: 8_000 });
    expect(result.structuredContent.output).toMatch(
      /still running after 50 s.*\(timeout\).*get_execution with execution_id exe_1/,
    );
  });

  test("after the run limit is an error, and says what would end it", () => {
    const result = executionResult(facts({ end: undefined, limit: "interrupt_after", interruptAfterMs: 2_000 }));
    expect(result).toMatchObject({
      isError: true,
      structuredContent: { status: "still_running", limit: "interrupt_after" },
    });
    expect(result.structuredContent.output).toMatch(
      /interrupted after 2 s \(interrupt_after\).*Restarting the kernel would end it/,
    );
  });

  test("and has not begun has taken no time", () => {
    const result = executionResult(facts({ end: undefined, limit: "timeout", startedAt: null }));
    expect(result.structuredContent.duration_ms).toBe(0);
  });
});

test("a run limit that the code swallowed makes it interrupted, and one that came too late does not", () => {
  const limit = { limit: "interrupt_after", interruptAfterMs: 1_000 } as const;
  const swallowed = executionResult(facts({ ...limit, end: ended("completed", { reply: {}, interruptSent: true }) }));
  expect(swallowed).toMatchObject({
    isError: true,
    structuredContent: { status: "interrupted", limit: "interrupt_after" },
  });
  const late = executionResult(facts({ ...limit, end: ended("completed", { reply: {} }) }));
  expect(late.structuredContent).toMatchObject({ status: "completed" });
  expect(late.structuredContent.limit).toBeUndefined();
  expect(late.isError).toBeUndefined();
});

test.each(["rateLimited", "reconnected", "tooLarge", "unconfirmed", "unrecorded"] as const)(
  "output that may be missing (%s) is said",
  (kind) => {
    const end = ended("completed", { reply: {}, incomplete: { ...NOTHING_MISSING, [kind]: true } });
    const { structuredContent } = executionResult(facts({ end }));
    expect(structuredContent.incomplete).toEqual([kind]);
    expect(structuredContent.output).toMatch(/output (may be|is) missing|lost; output may be missing/);
  },
);

test.each(["restarted", "replaced"] as const)(
  "a kernel that was %s has lost its variables, and that is said",
  (origin) => {
    expect(executionResult(facts({ kernel: { id: "k1", origin } })).structuredContent.output).toMatch(
      /variables of earlier runs are lost/,
    );
  },
);

test("outputs that are not in the notebook are said not to be", () => {
  const cell = { notebook_path: "a.ipynb", cell_index: 0, saved: false, not_saved_because: "It was deleted." };
  const { structuredContent } = executionResult(facts({ cell }));
  expect(structuredContent).toMatchObject({ cell, output: "out\n[It was deleted.]" });
});

test("what is left out is counted", () => {
  const omitted = { bytes: 10, lines: 2, images: 1 };
  const { structuredContent } = executionResult(facts({ rendering: { content: [], omitted } }));
  expect(structuredContent.outputs_dropped).toEqual(omitted);
});
