/** What each option of a tool may be. What depends on the runner is its own to check. */
import {
  aFunction,
  anything,
  checkOptions,
  durationFrom,
  type OptionRule,
  type OptionRules,
  oneOf,
} from "@claimcheck/core";
import type { AnyToolConfig } from "./config.js";

const text: OptionRule = { what: "a string", takes: (value) => typeof value === "string" };
const schema: OptionRule = {
  what: "a Standard Schema, such as z.object({ … })",
  takes: (value) =>
    typeof (value as { "~standard"?: { validate?: unknown } } | null)?.["~standard"]?.validate === "function",
};

const OPTIONS: OptionRules<AnyToolConfig> = {
  title: text,
  description: text,
  inputSchema: schema,
  outputSchema: schema,
  // The SDK's.
  annotations: anything,
  icons: anything,
  _meta: anything,
  // Below.
  execution: anything,
  immediateResponse: {
    what: "a string, or a function of the arguments",
    takes: (value) => text.takes(value) || aFunction.takes(value),
  },
  // By assertRecovery.
  recovery: anything,
  maxRunMs: durationFrom(1),
  ttl: durationFrom(0),
  pollInterval: durationFrom(0),
  cancelGraceMs: durationFrom(0),
  inlineMs: durationFrom(0),
  promoteAfterMs: durationFrom(0),
  askFirst: aFunction,
};

const EXECUTION: OptionRules<NonNullable<AnyToolConfig["execution"]>> = {
  taskSupport: oneOf("forbidden", "optional", "required"),
  // By Runners.
  runner: anything,
};

/** What a direct call knows nothing of. */
const OF_TASKS = [
  "immediateResponse",
  "recovery",
  "maxRunMs",
  "ttl",
  "pollInterval",
  "inlineMs",
] as const satisfies (keyof AnyToolConfig)[];

/** @throws TypeError, RangeError that name the tool, the option and what would be right */
export function checkTool(name: string, config: object): void {
  const quoted = JSON.stringify(name);
  checkOptions<AnyToolConfig>(`The tool ${quoted}`, config, OPTIONS);
  const { execution = {} } = config as AnyToolConfig;
  checkOptions(`execution of the tool ${quoted}`, execution, EXECUTION);
  const idle = OF_TASKS.find((option) => (config as AnyToolConfig)[option] !== undefined);
  if (idle === undefined || (execution.taskSupport ?? "forbidden") !== "forbidden") return;
  throw new TypeError(
    `${idle} of the tool ${quoted} is about tasks, and there are none of it: give it execution.taskSupport "optional" or "required".`,
  );
}
