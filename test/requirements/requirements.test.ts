/** Every requirement is checked wherever it applies, and nothing else is called a requirement. */
import { describe, expect, it } from "vitest";
import { DIALECTS } from "../protocol/client.js";
import { TRANSPORTS } from "../protocol/serving.js";
import { LIBRARY_CHECKS } from "./checks/jupyter.js";
import { REQUIREMENTS, type Requirement } from "./requirements.js";
import { applies, CHECKS } from "./run-checks.js";
import { IN_MEMORY, OTHERS } from "./transports.js";

const entries: [string, Requirement][] = Object.entries(REQUIREMENTS);

/**
 * What the official suite's list of SEP-2663 (`src/seps/sep-2663.yaml` of modelcontextprotocol/conformance) asks of
 * servers, by what is left of the ids when `sep-2663-` is taken off.
 */
const SUITE = [
  "server-rejects-undeclared-client",
  "server-returns-missing-capability-when-required",
  "server-returns-missing-capability-data-shape",
  "result-type-task-on-create",
  "no-task-result-type-on-others",
  "failed-status-jsonrpc-only",
  "durable-create-strong-consistency",
  "mrtr-synchronous-before-task-creation",
  "tasks-get-status-working",
  "tasks-get-status-input-required",
  "tasks-get-status-completed",
  "tasks-get-status-cancelled",
  "tasks-get-status-failed",
  "result-type-complete-on-tasks-get",
  "input-request-key-unique-per-task",
  "no-key-reuse-after-response",
  "update-ack-empty-result",
  "update-error-unknown-task-id",
  "update-ignore-unknown-keys",
  "result-type-complete-on-tasks-update",
  "cancel-not-via-cancelled-notification",
  "cancel-ack-empty-result",
  "cancel-error-unknown-task-id",
  "result-type-complete-on-tasks-cancel",
  "routing-headers-accepted-on-tasks-get",
  "server-rejects-mismatched-mcp-name-on-tasks-get",
  "subscribe-missing-capability-non-declaring",
  "no-progress-or-message-on-task-stream",
  "tasks-get-invalid-task-id-32602",
  "tasks-update-cancel-invalid-task-id-32602",
  "tasks-methods-non-declaring",
  "failed-includes-statusmessage",
  "tool-error-uses-completed-status",
  "tasks-result-removed-method-not-found",
  "legacy-task-param-ignored",
  "migrate-from-legacy-capabilities",
  "legacy-capability-treated-as-non-declaring",
];

describe("the table of requirements", () => {
  it("has a check for each entry and an entry for each check", () => {
    const checked = [...Object.keys(CHECKS), ...Object.keys(LIBRARY_CHECKS)];
    expect(checked.sort()).toEqual(entries.map(([id]) => id).sort());
  });

  it("is checked over every transport, each in one test file", () => {
    expect([...IN_MEMORY, ...OTHERS].sort()).toEqual([...TRANSPORTS].sort());
  });

  it.each(entries)("%s applies somewhere, and says why not where it does not", (id, { dialects, except }) => {
    const runs = TRANSPORTS.flatMap((transport) => DIALECTS.filter((dialect) => applies(id, transport, dialect)));
    expect(runs.length > 0).toBe(!Object.hasOwn(LIBRARY_CHECKS, id));
    for (const [name, why] of Object.entries(except)) {
      expect(([...TRANSPORTS, ...dialects] as string[]).includes(name)).toBe(true);
      expect(why.length).toBeGreaterThan(20);
    }
  });

  it.each(entries)("%s names its source and its rule", (_id, { source, rule }) => {
    expect(source).toMatch(/^(https:\/\/\S+#[\w-]+|[\w -]+: Tasks#.+)$/);
    expect(rule).toMatch(/^\S.{15,}\.$/);
  });

  it("has whatever the official suite's list asks of a server", () => {
    const named = new Set(entries.flatMap(([, { suite }]) => suite));
    expect([...named].sort()).toEqual(SUITE.map((id) => `sep-2663-${id}`).sort());
  });
});
