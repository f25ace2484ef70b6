/** The runner "subprocess", with real processes: what they print, how they end, and that nothing of them is left. */
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { eventually } from "../../../../test/fixtures/eventually.js";
import type { Command, TasksOptions } from "../../src/index.js";
import type { RawClient } from "../wire/raw-client.js";
import { scene } from "../wire/servers.js";

const EXECUTION = { taskSupport: "optional", runner: "subprocess" } as const;

async function clientOf(command: Command | (() => Command), config: object = {}, options: TasksOptions = {}) {
  const { connect, tasks } = scene(
    (tasks, server) =>
      tasks.registerTool(server, "run", { execution: EXECUTION, ...config }, () =>
        typeof command === "function" ? command() : command,
      ),
    options,
  );
  return { client: await connect(), tasks };
}

interface Result {
  content: { type: string; text: string }[];
  structuredContent?: Record<string, unknown>;
  isError?: boolean;
}

async function runDirectly(command: Command, config: object = {}): Promise<Result> {
  const { client } = await clientOf(command, config);
  return (await client.call("run")).result as unknown as Result;
}

async function collect(client: RawClient): Promise<Result> {
  const { taskId } = await client.callTask("run");
  return (await client.request("tasks/result", { taskId })).result as unknown as Result;
}

const sh = (script: string, more: Partial<Command> = {}): Command => ({ argv: ["sh", "-c", script], ...more });
const node = (script: string, more: Partial<Command> = {}): Command => ({
  argv: [process.execPath, "-e", script],
  ...more,
});

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "claimcheck-subprocess-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** Whether a process of this command line runs. */
const runs = (marker: string): boolean => spawnSync("pgrep", ["-f", marker]).status === 0;
let markers = 0;
/** A number of seconds that nobody else sleeps. */
function marker(): string {
  markers += 1;
  return `9${process.pid}.${markers}`;
}

describe("a command that succeeds", () => {
  it("answers its stdout as text, the same directly and as a task", async () => {
    const { client } = await clientOf(sh("printf 'one\\ntwö'; echo noise >&2"));
    const direct = (await client.call("run")).result;
    expect(direct).toEqual({ content: [{ type: "text", text: "one\ntwö" }] });
    expect(await collect(client)).toMatchObject({ content: [{ type: "text", text: "one\ntwö" }] });
  });

  it("reads its stdin to its end, and finds it at its end where it is given none", async () => {
    expect((await runDirectly({ argv: ["cat"], stdin: "für dich" })).content[0]?.text).toBe("für dich");
    expect((await runDirectly({ argv: ["cat"] })).content[0]?.text).toBe("");
  });

  it("need not read its stdin", async () => {
    expect((await runDirectly({ argv: ["true"], stdin: "x".repeat(1_000_000) })).isError).toBeUndefined();
  });

  it("runs where and with what it is told", async () => {
    const cwd = folder();
    const { content } = await runDirectly(sh('pwd; echo "$GREETING"', { cwd, env: { GREETING: "hello" } }));
    expect(content[0]?.text).toBe(`${cwd}\nhello\n`);
  });

  it("has its arguments as they are: no shell reads them", async () => {
    const { content } = await runDirectly({ argv: ["printf", "%s", "$(echo no); `echo no` *"] });
    expect(content[0]?.text).toBe("$(echo no); `echo no` *");
  });

  it("has stderr among its output where that is asked for", async () => {
    const { content } = await runDirectly(
      sh("echo a; sleep 0.5; echo b >&2; sleep 0.5; echo c", { combineStderr: true }),
    );
    expect(content[0]?.text).toBe("a\nb\nc\n");
  });

  it("is answered as its tool makes of it, whatever the exit code", async () => {
    const result: Command["result"] = ({ exitCode, stdout }) => ({ matches: exitCode === 0 ? stdout.split("\n") : [] });
    expect((await runDirectly(sh("printf 'a\\nb'", { result }))).structuredContent).toEqual({ matches: ["a", "b"] });
    const none = await runDirectly(sh("exit 1", { result }));
    expect(none).toMatchObject({ structuredContent: { matches: [] } });
    expect(none.isError).toBeUndefined();
  });

  it("loses no character that comes in two pieces, and keeps the limit with head and tail", async () => {
    const split = node(
      "process.stdout.write(Buffer.from([0xc3])); setTimeout(() => process.stdout.write(Buffer.from([0xbc])), 100)",
    );
    expect((await runDirectly(split)).content[0]?.text).toBe("ü");
    const { content } = await runDirectly(sh("seq 1 100000", { maxOutputBytes: 1000 }));
    const text = content[0]?.text ?? "";
    expect(text.startsWith("1\n2\n3\n")).toBe(true);
    expect(text.endsWith("99999\n100000\n")).toBe(true);
    expect(text).toContain("[… 587895 bytes of output dropped here; the limit is 1000 bytes …]");
  });
});

describe("a command that fails", () => {
  it("is an error result with exit code, stderr and output", async () => {
    const { client } = await clientOf(sh("echo half; echo broken >&2; exit 3"));
    const expected = {
      isError: true,
      content: [
        { type: "text", text: "The command sh ended with exit code 3." },
        { type: "text", text: "broken\n" },
        { type: "text", text: "half\n" },
      ],
      structuredContent: {
        exitCode: 3,
        signal: null,
        timedOut: false,
        stdout: "half\n",
        stderr: "broken\n",
        droppedBytes: 0,
      },
    };
    expect((await client.call("run")).result).toEqual(expected);
    expect(await collect(client)).toMatchObject(expected);
  });

  it("names the signal that ended it", async () => {
    const { content, structuredContent } = await runDirectly(sh("kill -KILL $$"));
    expect(content[0]?.text).toBe("The command sh was ended by SIGKILL.");
    expect(structuredContent).toMatchObject({ exitCode: null, signal: "SIGKILL" });
  });

  it("is stopped when its time is over, with what it had printed", async () => {
    const sleeping = marker();
    const { content, structuredContent, isError } = await runDirectly(
      sh(`echo begun; sleep ${sleeping}`, { timeoutMs: 1500 }),
    );
    expect(isError).toBe(true);
    expect(content[0]?.text).toBe("The command sh was stopped: it had taken 1500 ms.");
    expect(structuredContent).toMatchObject({ timedOut: true, stdout: "begun\n" });
    expect(runs(sleeping)).toBe(false);
  });

  it("is killed when its time is over and it will not stop", async () => {
    const { structuredContent } = await runDirectly(
      node('process.on("SIGTERM", () => console.log("no")); console.log("up"); setInterval(() => {}, 1000)', {
        timeoutMs: 2500,
      }),
      { cancelGraceMs: 1000 },
    );
    expect(structuredContent).toMatchObject({ timedOut: true, signal: "SIGKILL", stdout: "up\nno\n" });
  });

  it.each([
    [
      "no such program",
      () => ({ argv: ["claimcheck-no-such-program"] }),
      "The command claimcheck-no-such-program was not found.",
    ],
    [
      "no such folder",
      () => ({ argv: ["ls"], cwd: "/no/such/folder" }),
      "The command ls could not be run in /no/such/folder: there is no such folder.",
    ],
    [
      "a file that may not be run",
      () => {
        const file = join(folder(), "data");
        writeFileSync(file, "echo hello");
        chmodSync(file, 0o644);
        return { argv: [file] };
      },
      "could not be run: it, or its folder, may not be used by this server.",
    ],
    [
      "arguments beyond what the system takes",
      () => ({ argv: ["ls", "x".repeat(3_000_000)] }),
      "its arguments and environment are too long together",
    ],
    ["no command", () => ({ command: "ls" }) as unknown as Command, "A command has no option command"],
  ] as [string, () => Command, string][])("%s is said", async (_what, command, why) => {
    const { client } = await clientOf(command);
    expect((await client.call("run")).result).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining(why) }],
    });
    expect(await collect(client)).toMatchObject({ isError: true, content: [{ text: expect.stringContaining(why) }] });
  });
});

describe("while it runs", () => {
  it("each line is progress, by its number, to whoever asked for it", async () => {
    const script = "printf 'one\\r\\n\\ntwo\\n'; printf '\\033[32mthree'";
    const { client } = await clientOf(sh(script));
    await client.call("run", { _meta: { progressToken: "p" } });
    const told = client.heard.filter(({ method }) => method === "notifications/progress").map(({ params }) => params);
    expect(told).toEqual([
      { progressToken: "p", progress: 1, message: "one" },
      { progressToken: "p", progress: 3, message: "two" },
      { progressToken: "p", progress: 4, message: "three" },
    ]);
  });

  it("of a burst the last lines are told, and the output is whole", async () => {
    const { client } = await clientOf(sh("seq 1 2000"));
    const { result } = await client.call("run", { _meta: { progressToken: 1 } });
    const told = client.heard
      .filter(({ method }) => method === "notifications/progress")
      .map(({ params }) => params.progress);
    expect(told.at(-1)).toBe(2000);
    expect(told.length).toBeLessThan(500);
    expect((result as unknown as Result).content[0]?.text.split("\n")).toHaveLength(2001);
  });

  it("the last line is the task's status message, and its output can be read", async () => {
    const { client } = await clientOf(sh("echo first; printf second; sleep 60"));
    const { taskId } = await client.callTask("run");
    await eventually(async () => (await client.request("tasks/get", { taskId })).result?.statusMessage === "first");
    const { result } = await client.request("tasks/cancel", { taskId });
    expect(result).toMatchObject({ status: "cancelled" });
    const kept = (await client.request("tasks/result", { taskId })).result as unknown as Result;
    expect(kept.content).toEqual([{ type: "text", text: "first\nsecond" }]);
  });

  it("does not end before the command does, though that has closed its output", async () => {
    const file = join(folder(), "done");
    await runDirectly(sh(`exec >&- 2>&-; sleep 0.3; touch ${file}`));
    expect(existsSync(file)).toBe(true);
  });
});

describe("nothing is left", () => {
  /** sh → node → a grandchild that does not heed SIGTERM and writes to a file. */
  const stubborn = (file: string): Command => {
    const grandchild = `process.on("SIGTERM", () => {}); setInterval(() => require("fs").appendFileSync(${JSON.stringify(file)}, "x"), 20)`;
    const child = `require("child_process").spawn(process.execPath, ["-e", ${JSON.stringify(grandchild)}], { stdio: "ignore" }); setInterval(() => {}, 1000)`;
    return { argv: ["sh", "-c", '"$0" -e "$1"; true', process.execPath, child] };
  };

  const size = (file: string): number => (existsSync(file) ? statSync(file).size : 0);

  async function standsStill(file: string): Promise<boolean> {
    const before = size(file);
    await pause(200);
    return size(file) === before;
  }

  it("cancelling ends the whole tree, the deaf grandchild included", async () => {
    const file = join(folder(), "log");
    const { client } = await clientOf(stubborn(file), { cancelGraceMs: 300 });
    const { taskId } = await client.callTask("run");
    await eventually(() => size(file) > 3);
    expect((await client.request("tasks/cancel", { taskId })).result).toMatchObject({ status: "cancelled" });
    expect(await standsStill(file)).toBe(true);
    expect(runs(file)).toBe(false);
  });

  it("so does the caller of a direct call that cancels, or goes", async () => {
    for (const leave of [
      (client: RawClient) =>
        client.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 5 } }),
      (client: RawClient) => client.close(),
    ]) {
      const file = join(folder(), "log");
      const { client } = await clientOf(stubborn(file), { cancelGraceMs: 300 });
      void client.request("tools/call", { name: "run" }, 5);
      await eventually(() => size(file) > 3);
      await leave(client);
      await eventually(() => !runs(file));
      expect(await standsStill(file)).toBe(true);
    }
  });

  it("so does the tool's run limit; the output is kept", async () => {
    const file = join(folder(), "log");
    const { client } = await clientOf(stubborn(file), { maxRunMs: 3000, cancelGraceMs: 300 });
    const { taskId } = await client.callTask("run");
    await client.request("tasks/result", { taskId });
    expect((await client.request("tasks/get", { taskId })).result).toMatchObject({
      status: "failed",
      statusMessage: expect.stringContaining("limit of 3000 ms"),
    });
    expect(size(file)).toBeGreaterThan(0);
    expect(await standsStill(file)).toBe(true);
  });

  it("so does closing, for tasks and for direct calls; nothing is run after it", async () => {
    const files = [join(folder(), "log"), join(folder(), "log")];
    const next = [...files];
    const { client, tasks } = await clientOf(() => stubborn(next.shift() ?? "none"), { cancelGraceMs: 300 });
    await client.callTask("run");
    await eventually(() => size(files[0] as string) > 3);
    void client.request("tools/call", { name: "run" }, 5);
    await eventually(() => size(files[1] as string) > 3);
    await tasks.close();
    for (const file of files) {
      expect(runs(file)).toBe(false);
      expect(await standsStill(file)).toBe(true);
    }
    expect((await client.call("run")).result).toMatchObject({
      isError: true,
      content: [{ text: "The server is closing: no command is run any more." }],
    });
  });

  it("a command that ends takes along what it left running in its group", async () => {
    const sleeping = marker();
    const { content } = await runDirectly(sh(`sleep ${sleeping} & echo done`));
    expect(content[0]?.text).toBe("done\n");
    expect(runs(sleeping)).toBe(false);
  });

  it("what a command leaves writing for a moment is waited for", async () => {
    expect((await runDirectly(sh("(sleep 0.2; echo late) & echo early"))).content[0]?.text).toBe("early\nlate\n");
  });

  it("a daemon that holds the output holds up no answer", async () => {
    const sleeping = marker();
    onTestFinished(() => void spawnSync("pkill", ["-f", `sleep ${sleeping}`]));
    const { content } = await runDirectly(sh(`setsid sleep ${sleeping} & echo done`));
    expect(content[0]?.text).toBe("done\n");
  });

  it("a server that exits at once ends its commands", async () => {
    const sleeping = marker();
    const source = new URL("../programs/exits-with-a-command.mjs", import.meta.url).pathname;
    const { status, stderr } = spawnSync(process.execPath, [source, sleeping], { encoding: "utf8", timeout: 20_000 });
    expect({ status, stderr }).toEqual({ status: 7, stderr: "" });
    await eventually(() => !runs(sleeping));
  });
});

describe("with other policies", () => {
  it("a command that is cancelled before it is made is not run", async () => {
    const file = join(folder(), "ran");
    const { connect } = scene((tasks, server) =>
      tasks.registerTool(server, "run", { execution: EXECUTION }, async (_args, ctx) => {
        await ctx.cancelToken.wait();
        return { argv: ["touch", file] };
      }),
    );
    const client = await connect();
    const { taskId } = await client.callTask("run");
    expect((await client.request("tasks/cancel", { taskId })).result).toMatchObject({ status: "cancelled" });
    await pause(100);
    expect(existsSync(file)).toBe(false);
  });

  it("runs without number leave no listener behind", async () => {
    const { client } = await clientOf({ argv: ["true"] });
    const before = process.listenerCount("exit");
    await Promise.all(Array.from({ length: 100 }, () => client.call("run")));
    expect(process.listenerCount("exit")).toBe(before);
  });
});
