import { describe, expect, test } from "vitest";
import { runCommand } from "../../src/server/run.js";

const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;

describe("runCommand", () => {
  test("gives the exit code, and what both streams said", async () => {
    const result = await runCommand(["sh", "-c", "echo out; echo err >&2; exit 3"], { timeoutMs: 60_000 });
    expect(result.exitCode).toBe(3);
    expect(result.output.split("\n").sort()).toEqual(["err", "out"]);
  });

  test("a command that cannot be started is told, and nothing of it holds the process open", async () => {
    const before = timers();
    for (let attempt = 0; attempt < 20; attempt += 1) {
      const result = await runCommand(["/nonexistent/python"], { timeoutMs: 60_000 });
      expect(result).toEqual({ exitCode: null, output: "spawn /nonexistent/python ENOENT" });
    }
    expect(timers() - before).toBeLessThan(20);
  });

  test("after its time a command is killed that ignores SIGTERM, and not waited for by what it started", async () => {
    const result = await runCommand(["sh", "-c", "trap '' TERM; echo begun; sleep 20 & sleep 20"], { timeoutMs: 300 });
    expect(result.exitCode).toBeNull();
  });
});
