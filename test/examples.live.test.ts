/** The examples are run as a reader runs them. Each checks itself; what it says beside that is looked at here. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { CallToolResultSchema, CreateTaskResultSchema } from "@modelcontextprotocol/sdk/types.js";
import { expect, inject, onTestFinished, test } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));

/** Starts an example; it is killed when the test ends. */
function start(args: string[], env: Record<string, string> = {}): { child: ChildProcess; output: () => string } {
  const child = spawn(process.execPath, ["--import", "./scripts/typescript.mjs", ...args], {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let text = "";
  for (const stream of [child.stdout, child.stderr]) stream?.setEncoding("utf8").on("data", (more) => (text += more));
  onTestFinished(() => void child.kill("SIGKILL"));
  return { child, output: () => text };
}

const exitOf = (child: ChildProcess) => new Promise((resolve) => child.once("close", resolve));

/** Starts the server of the quick start; answers where it serves. */
function quickStart(): Promise<string> {
  const { child, output } = start(["examples/quick-start.ts"], { PORT: "0" });
  const ended = exitOf(child);
  return new Promise<string>((resolve, reject) => {
    child.stdout?.on("data", () => {
      const found = /serving MCP on (\S+)/.exec(output())?.[1];
      if (found !== undefined) resolve(found);
    });
    void ended.then(() => reject(new Error(output())));
  });
}

test("the quick start serves a tool that runs directly and as a task", async () => {
  const url = await quickStart();
  const client = new Client({ name: "reader", version: "1.0.0" }, { capabilities: { tasks: {} } });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)) as Parameters<Client["connect"]>[0]);
  onTestFinished(() => client.close());
  const params = { name: "build_report", arguments: { year: 2026 }, task: {} };
  const { task } = await client.request({ method: "tools/call", params }, CreateTaskResultSchema);
  expect(task.status).toBe("working");
  const { content } = await client.experimental.tasks.getTaskResult(task.taskId, CallToolResultSchema);
  expect(content).toEqual([{ type: "text", text: "The report of 2026 is ready." }]);
});

test("call-and-collect leaves a claim check with the quick start, and another client of the newest protocol collects", async () => {
  const { child, output } = start(["examples/call-and-collect.ts", await quickStart()]);
  expect(await exitOf(child), output()).toBe(0);
  expect(output()).toContain("The report of 2026 is ready.");
});

test.each([
  ["review-repository", "as a task and as a plain call"],
  ["ask-a-person", '"approvedBy":"Ada"'],
  ["subprocess-tool", "nothing of them is left"],
  ["cpu-worker/main", "nobody waited for them"],
])("%s plays its story to the end", async (name, said) => {
  const { child, output } = start([`examples/${name}.ts`]);
  expect(await exitOf(child), output()).toBe(0);
  expect(output()).toContain(said);
  expect(output()).not.toMatch(/undefined|"level":"warn"/);
});

test("every example is run here", () => {
  const self = readFileSync(fileURLToPath(import.meta.url), "utf8");
  const names = readdirSync(`${root}examples`).map((file) => file.replace(/\.ts$/, ""));
  expect(names.length).toBeGreaterThan(2);
  expect(names.filter((name) => !self.includes(name))).toEqual([]);
});

test("the story of npm start goes as it should, and ends with 0", { timeout: 300_000 }, async () => {
  // A Python that has a Jupyter Server, so that none is installed for the story.
  const env = { JUPYTER_PYTHON: inject("jupyter").python };
  const { child, output } = start(["examples/collect-later/main.ts", "--once", "--port", "0"], env);
  expect(await exitOf(child), output()).toBe(0);
  expect(output()).toContain("Every step went as it should.");
  expect(output()).not.toContain("\u001b");
  expect(output().match(/✓/g)).toHaveLength(5);
});

test.each(["SIGHUP", "SIGINT"] as const)(
  "the story takes its servers and its kernel along on %s in the middle of a cell",
  {
    timeout: 120_000,
  },
  async (signal) => {
    const tmp = mkdtempSync(join(tmpdir(), "story-"));
    onTestFinished(() => rmSync(tmp, { recursive: true, force: true }));
    const { child, output } = start(["examples/collect-later/main.ts", "--port", "0"], {
      JUPYTER_PYTHON: inject("jupyter").python,
      TMPDIR: tmp,
    });
    const ended = exitOf(child);
    await expect.poll(output, { timeout: 60_000 }).toMatch(/[1-9]\/10/);
    // A Jupyter Server names itself there for as long as it runs, by its process id.
    const files = readdirSync(tmp, { recursive: true, encoding: "utf8" });
    const [jupyter = Number.NaN] = files.flatMap(
      (name) => /jpserver-(\d+)\.json$/.exec(name)?.slice(1).map(Number) ?? [],
    );
    expect(process.kill(jupyter, 0)).toBe(true);
    child.kill(signal);
    expect(await ended).toBe(130);
    expect(output()).not.toContain("held open");
    expect(() => process.kill(jupyter, 0)).toThrow("ESRCH");
    const [, url = ""] = /serving +(\S+),/.exec(output()) ?? [];
    await expect(fetch(url)).rejects.toMatchObject({ cause: { code: "ECONNREFUSED" } });
  },
);
