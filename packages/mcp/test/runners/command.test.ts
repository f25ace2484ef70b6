import { afterEach, expect, it, vi } from "vitest";
import { checkCommand, environmentOf } from "../../src/runners/command.js";

afterEach(() => vi.unstubAllEnvs());

it.each([
  [undefined, "must return a command"],
  ["ls", "must return a command"],
  [["ls"], "must return a command"],
  [{}, "argv must be a list of strings"],
  [{ argv: [] }, "argv must be a list of strings"],
  [{ argv: [""] }, "argv must be a list of strings"],
  [{ argv: ["ls", 1] }, "argv must be a list of strings"],
  [{ argv: ["ls", "a\0b"] }, "argv must be a list of strings"],
  [{ argv: ["ls"], cwd: "" }, "cwd must be the path"],
  [{ argv: ["ls"], env: { A: 1 } }, "env must be an object of strings"],
  [{ argv: ["ls"], env: null }, "env must be an object of strings"],
  [{ argv: ["ls"], stdin: 1 }, "stdin must be a string or bytes"],
  [{ argv: ["ls"], timeoutMs: 0 }, "timeoutMs must be a number of milliseconds above 0"],
  [{ argv: ["ls"], timeoutMs: Number.NaN }, "timeoutMs must be"],
  [{ argv: ["ls"], timeoutMs: 2 ** 31 }, "timeoutMs must be"],
  [{ argv: ["ls"], combineStderr: "yes" }, "combineStderr must be true or false"],
  [{ argv: ["ls"], maxOutputBytes: 0.5 }, "maxOutputBytes must be a whole number"],
  [{ argv: ["ls"], result: "text" }, "result must be a function"],
  [{ argv: ["ls"], timeout_ms: 5 }, "no option timeout_ms; it has argv, cwd, env, stdin, timeoutMs"],
  [{ cmd: "ls", shell: true }, "no option cmd"],
])("%j is refused, and it is said why", (command, why) => {
  expect(() => checkCommand(command)).toThrow(why);
});

it("what is right in every member is taken", () => {
  const env = { A: "1", HOME: undefined };
  const command = { argv: ["ls"], cwd: ".", env, stdin: new Uint8Array(), timeoutMs: 1, combineStderr: true };
  expect(() => checkCommand({ ...command, maxOutputBytes: 1, result: String })).not.toThrow();
});

it("a command inherits what programs need, and none of the server's secrets", () => {
  vi.stubEnv("API_TOKEN", "secret");
  vi.stubEnv("HOME", "/home/me");
  const env = environmentOf({ argv: ["env"], env: { MINE: "1" } });
  expect(env).toMatchObject({ PATH: process.env.PATH, HOME: "/home/me", MINE: "1" });
  expect(env).not.toHaveProperty("API_TOKEN");
  expect(environmentOf({ argv: ["env"], env: { HOME: undefined } })).not.toHaveProperty("HOME");
  expect(environmentOf({ argv: ["env"], env: process.env })).toHaveProperty("API_TOKEN", "secret");
});
