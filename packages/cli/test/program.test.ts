import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { JupyterFlags } from "../src/jupyter-settings.js";
import { main } from "../src/main.js";
import { createProgram } from "../src/program.js";
import { testHost } from "./test-host.js";

/** The flags that a command line of `claimcheck jupyter` comes to. */
async function flagsOf(...args: string[]): Promise<JupyterFlags> {
  let read: JupyterFlags | undefined;
  const actions = {
    jupyter: async (flags: JupyterFlags) => {
      read = flags;
    },
  };
  await createProgram(actions, testHost()).parseAsync(["jupyter", ...args], { from: "user" });
  if (read === undefined) throw new Error("the command did not run");
  return read;
}

/** What a command line that starts nothing writes and exits with. */
async function outcome(...args: string[]) {
  const host = testHost();
  const exitCode = await main(args, host);
  return { exitCode, stdout: host.written("stdout"), stderr: host.written("stderr") };
}

describe("the command line", () => {
  test("each option arrives under its name", async () => {
    const line =
      "--jupyter-url http://j --token t --root nb --notebook a.ipynb --store memory --http --port 0 --host ::1 " +
      "--mcp-token m --no-auth --issuer https://i --jwks https://i/keys --resource https://m/mcp --audience x y " +
      "--scope *=mcp tools/call=run --allow-host a b --allow-origin c --grace 2.5 --log-level debug";
    expect(await flagsOf(...line.split(" "))).toEqual({
      jupyterUrl: "http://j",
      token: "t",
      root: "nb",
      notebook: "a.ipynb",
      store: "memory",
      http: true,
      port: 0,
      host: "::1",
      mcpToken: "m",
      auth: false,
      issuer: "https://i",
      jwks: "https://i/keys",
      resource: "https://m/mcp",
      audience: ["x", "y"],
      scope: ["*=mcp", "tools/call=run"],
      allowHost: ["a", "b"],
      allowOrigin: ["c"],
      grace: 2.5,
      logLevel: "debug",
    });
  });

  test("an option that is not given is absent", async () => {
    expect(await flagsOf()).toEqual({ auth: true });
  });
});

describe("help and version go to stdout and end with 0", () => {
  test("--version is that of the package", async () => {
    const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
    expect(await outcome("--version")).toEqual({ exitCode: 0, stdout: `${version}\n`, stderr: "" });
  });

  test("the manual names every option, its variable and every exit code", async () => {
    const { exitCode, stdout } = await outcome("jupyter", "--help");
    expect(exitCode).toBe(0);
    for (const name of ["JUPYTER_URL", "JUPYTER_TOKEN", "JUPYTER_MCP_TASK_STORE_CLASS", "MCP_TOKEN", "DOCUMENT_ID"]) {
      expect(stdout).toContain(name);
    }
    expect(stdout).toMatch(/Exit codes:\n {2}0 .*\n {2}1 .*\n {2}2 .*\n {2}3 .*\n {2}128\+/);
  });
});

describe("what cannot be meant ends with 2, says why on stderr, and starts nothing", () => {
  test.each([
    [["jupyter", "--jupter-url", "http://j"], /unknown option '--jupter-url'\n\(Did you mean --jupyter-url\?\)/],
    [["jupyer"], /unknown command 'jupyer'\n\(Did you mean jupyter\?\)/],
    [["jupyter", "extra"], /too many arguments/],
    [["jupyter", "--port", "99999"], /whole number from 0 to 65535/],
    [["jupyter", "--port", "4e3"], /whole number from 0 to 65535/],
    [["jupyter", "--port"], /argument missing/],
    [["jupyter", "--grace", "0"], /number of seconds above 0/],
    [["jupyter", "--log-level", "loud"], /Allowed choices are debug, info, warn, error, silent/],
    [["jupyter", "--http", "--no-auth", "--mcp-token", "t"], /contradict each other/],
    [[], /Usage: claimcheck/],
  ])("claimcheck %j", async (args, message) => {
    const { exitCode, stdout, stderr } = await outcome(...args);
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(message);
    expect(stdout).toBe("");
  });

  test.each([
    ["postgres://ada:s3cr'et@db/tasks"],
    ["--stor=postgres://ada:s3cr'et@db/tasks"],
    ["jupyter", "--port", "redis://:s3cr'et@cache"],
    ["jupyter", "--contract", "redis://:s3cr'et@cache"],
    ["jupyter", "redis://:s3cr'et@cache"],
  ])("a password that stands where it should not is not repeated: %j", async (...args) => {
    const { exitCode, stderr } = await outcome(...args);
    expect(exitCode).toBe(2);
    expect(stderr).not.toContain("et@");
    expect(stderr).not.toContain("s3cr");
  });
});
