/** docs/tools.md names every option that a tool, a command and the tasks of a server have. */
import { readFileSync } from "node:fs";
import { INHERITED_ENV } from "@claimcheck/mcp";
import { expect, it } from "vitest";

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
const text = read("docs/tools.md");

/** The words in code, of the first cell of each row of the tables under `heading`. */
function documented(heading: string): string[] {
  const section = text.slice(text.indexOf(`\n${heading}\n`)).split(/\n##+ /)[1] ?? "";
  const rows = section.split("\n").filter((line) => line.startsWith("| `"));
  return rows.flatMap((row) =>
    [...(row.split("|")[1] ?? "").matchAll(/`(\w+)(?:\.\w+)?`/g)].map(([, name]) => name ?? ""),
  );
}

/** The members of an interface, as its source has them. */
function membersOf(path: string, name: string): string[] {
  const source = read(path);
  const from = source.indexOf(`export interface ${name}`);
  const body = source.slice(source.indexOf("{\n", from), source.indexOf("\n}\n", from));
  return [...body.matchAll(/^ {2}(\w+)\??: /gm)].map(([, member]) => member ?? "");
}

const CREATE_TASKS = "## `createTasks`: the options of a server's tasks";

it.each([
  ["## A tool's options", { "packages/mcp/src/tools/config.ts": "ToolConfig" }],
  ['### `"subprocess"`: as a child process', { "packages/mcp/src/runners/command.ts": "Command" }],
  [
    CREATE_TASKS,
    { "packages/mcp/src/tasks.ts": "TasksOptions", "packages/core/src/runtime-options.ts": "TaskRuntimeOptions" },
  ],
  [
    "### `serveHttp`",
    {
      "packages/mcp/src/http/serve.ts": "ServeHttpOptions",
      "packages/mcp/src/http/handler.ts": "HttpHandlerOptions",
      "packages/mcp/src/http/guard.ts": "GuardOptions",
    },
  ],
  ["### `serveStdio`", { "packages/mcp/src/stdio/serve.ts": "ServeStdioOptions" }],
])("%s", (heading, interfaces) => {
  const members = Object.entries(interfaces).flatMap(([path, name]) => membersOf(path, name));
  expect(members.length).toBeGreaterThan(3);
  expect([...new Set(documented(heading))].sort()).toEqual(members.sort());
});

it("names the options of worker threads, and what a command inherits", () => {
  for (const member of membersOf("packages/mcp/src/runners/thread-pool.ts", "WorkerThreadsOptions"))
    expect(text).toMatch(new RegExp(`workerThreads: \\{[^}]*\\b${member}\\b`));
  for (const name of INHERITED_ENV) expect(text).toContain(`\`${name}\``);
});
