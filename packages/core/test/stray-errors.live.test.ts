import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it } from "vitest";

const PROGRAM = fileURLToPath(new URL("./programs/stray-errors.mjs", import.meta.url));
const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

/** A process of its own runs what was built. */
beforeAll(async () => {
  const build = spawn(process.execPath, ["node_modules/typescript-native/bin/tsc", "-b", "packages/core"], {
    cwd: ROOT,
  });
  expect(await once(build, "exit")).toEqual([0, null]);
});

interface Run {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Runs the program in a process of its own: whether it lives is the question. */
async function run(scenario: string, ...flags: string[]): Promise<Run> {
  const child = spawn(process.execPath, [...flags, PROGRAM, scenario], {
    stdio: ["ignore", "pipe", "pipe"],
    timeout: 20_000,
  });
  const said = { stdout: "", stderr: "" };
  child.stdout.on("data", (chunk) => (said.stdout += chunk));
  child.stderr.on("data", (chunk) => (said.stderr += chunk));
  const [code] = (await once(child, "close")) as [number | null];
  return { code, ...said };
}

describe("an error that a tool leaves behind", () => {
  it.each(["timer", "rejection", "immediate", "emitter"])(
    "by %s ends its task failed, and the process lives",
    async (how) => {
      const { code, stdout, stderr } = await run(`running-${how}`);
      expect(stderr).toContain("a tool threw outside its call");
      expect(JSON.parse(stdout)).toMatchObject({
        status: "failed",
        outcome: { kind: "threw", message: "left behind" },
        partialOutput: ["half"],
      });
      expect(code).toBe(0);
    },
  );

  it("after its task has ended changes nothing, is logged with the task's id, and the process lives", async () => {
    const { code, stdout, stderr } = await run("ended");
    const task = JSON.parse(stdout);
    expect(task).toMatchObject({ status: "completed" });
    expect(stderr).toContain(task.taskId);
    expect(code).toBe(0);
  });

  it("is taken under --unhandled-rejections=strict as well", async () => {
    const { code, stdout } = await run("every-way", "--unhandled-rejections=strict");
    expect(JSON.parse(stdout)).toEqual(["failed", "failed", "failed", "cancelled", "completed"]);
    expect(code).toBe(0);
  });
});

describe("an error that belongs to no task", () => {
  it("thrown from a timer crashes the process with its own stack and exit code", async () => {
    const [ours, native] = await Promise.all([run("stranger-timer"), run("native-timer")]);
    expect(ours.code).toBe(native.code);
    // Itself first, not the line of ours that let it go on.
    expect(ours.stderr.trimStart()).toMatch(/^Error: not ours/);
    expect(ours.stderr).toMatch(/at .*stray-errors\.mjs/);
  });

  it("rejected and not handled crashes it as it would without us", async () => {
    const [ours, native] = await Promise.all([run("stranger-rejection"), run("native-rejection")]);
    expect(ours.code).toBe(native.code);
    expect(ours.code).not.toBe(0);
    expect(ours.stderr).toContain("Error: not ours");
    expect(ours.stderr).toMatch(/at .*stray-errors\.mjs/);
  });

  it("is a warning where the process was told so, and tasks are still taken care of afterwards", async () => {
    const { code, stdout, stderr } = await run("stranger-then-task", "--unhandled-rejections=warn");
    expect(stderr).toContain("not ours");
    expect(JSON.parse(stdout)).toMatchObject({ status: "failed", outcome: { message: "left behind" } });
    expect(code).toBe(0);
  });

  it("is left to the program's own listener where it has one", async () => {
    const { code, stdout } = await run("own-listener");
    expect(stdout.trim()).toBe("mine: not ours");
    expect(code).toBe(0);
  });
});
