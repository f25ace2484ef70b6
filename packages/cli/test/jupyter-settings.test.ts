import { describe, expect, test } from "vitest";
import { UsageError } from "../src/errors.js";
import { type JupyterFlags, jupyterSettings } from "../src/jupyter-settings.js";
import { testHost } from "./test-host.js";

function settings(flags: JupyterFlags = {}, env: Record<string, string> = {}) {
  return jupyterSettings({ auth: true, ...flags }, testHost({ env }));
}

describe("without any setting", () => {
  test("one client is served on stdio, with a private server and a durable store of this user", () => {
    expect(settings()).toEqual({
      http: undefined,
      jupyterUrl: undefined,
      jupyterToken: undefined,
      rootDir: "/work",
      notebook: undefined,
      store: "sqlite:/home/ann/.local/state/claimcheck/jupyter-tasks.db",
      contract: "datalayer",
      stateDir: "/home/ann/.local/state/claimcheck",
      graceMs: 5000,
      logLevel: "warn",
      warnings: [],
    });
  });

  test("HTTP is served on loopback behind a token that nobody can guess", () => {
    const { http } = settings({ http: true });
    expect(http).toMatchObject({ host: "127.0.0.1", port: 4040, tokenIsNew: true, allowedHosts: undefined });
    expect(http?.token).toMatch(/^[\w-]{32}$/);
    expect(settings({ http: true }).http?.token).not.toBe(http?.token);
  });
});

describe("flags and environment", () => {
  test("the names of the environment are those of jupyter-mcp-server", () => {
    const env = {
      JUPYTER_URL: "http://j:8888",
      JUPYTER_TOKEN: "t",
      JUPYTER_MCP_TASK_STORE_CLASS: "m:C",
      MCP_TOKEN: "secret",
      DOCUMENT_ID: "report.ipynb",
    };
    expect(settings({ http: true }, env)).toMatchObject({
      jupyterUrl: "http://j:8888",
      jupyterToken: "t",
      store: "m:C",
      notebook: "report.ipynb",
      http: { token: "secret", tokenIsNew: false },
      warnings: [],
    });
  });

  test("a flag wins over the environment", () => {
    const flags = { http: true, jupyterUrl: "http://flag", token: "f", mcpToken: "mine" };
    expect(settings(flags, { JUPYTER_URL: "http://env", JUPYTER_TOKEN: "e", MCP_TOKEN: "theirs" })).toMatchObject({
      jupyterUrl: "http://flag",
      jupyterToken: "f",
      http: { token: "mine" },
    });
  });

  test.each(["None", "none", "null", "", "  "])("%j counts as not set, in both", (nothing) => {
    const env = { JUPYTER_URL: nothing, JUPYTER_TOKEN: nothing, JUPYTER_MCP_TASK_STORE_CLASS: nothing };
    expect(settings({}, env)).toEqual(settings());
    expect(settings({ jupyterUrl: nothing, token: nothing, store: nothing, root: nothing }, env)).toEqual(settings());
    expect(settings({ jupyterUrl: nothing }, { JUPYTER_URL: "http://env" }).jupyterUrl).toBe("http://env");
  });

  test("the state folder follows XDG_STATE_HOME when that is absolute", () => {
    expect(settings({}, { XDG_STATE_HOME: "/state" }).store).toBe("sqlite:/state/claimcheck/jupyter-tasks.db");
    expect(settings({}, { XDG_STATE_HOME: "state" }).stateDir).toBe("/home/ann/.local/state/claimcheck");
  });

  test.each([
    [{ allowOrigin: ["https://app.example"] }, '--allow-origin takes host names .*; got "https://app.example"'],
    [{ allowHost: ["box.lan", "box.lan:4040"] }, '--allow-host takes host names .*; got "box.lan:4040"'],
  ])("%j names no host that a request could have", (flags, message) => {
    expect(() => settings({ http: true, ...flags })).toThrow(new RegExp(message));
  });

  test("further names of the server come beside its usual ones", () => {
    expect(settings({ http: true, host: "::", allowHost: ["box.lan"] }).http?.allowedHosts).toEqual([
      "127.0.0.1",
      "localhost",
      "[::1]",
      "[::]",
      "box.lan",
    ]);
  });
});

describe("an authorization server", () => {
  const issued = { http: true, issuer: "https://id.example", jwks: "https://id.example/keys" };

  test("lets in by its JWTs, in place of a token", () => {
    const scope = ["*=mcp", "tools/call=tools:run,notebooks", "tools/call=more"];
    const flags = { ...issued, resource: "https://mcp.example/mcp", audience: ["a", "b"], scope };
    expect(settings(flags).http).toMatchObject({
      token: undefined,
      tokenIsNew: false,
      jwt: {
        issuer: "https://id.example",
        jwks: "https://id.example/keys",
        resource: "https://mcp.example/mcp",
        audience: ["a", "b"],
        scopes: { "*": ["mcp"], "tools/call": ["tools:run", "notebooks", "more"] },
      },
    });
    expect(settings(issued).http?.jwt).toEqual({ issuer: issued.issuer, jwks: issued.jwks });
  });

  test.each<[JupyterFlags, RegExp]>([
    [{ jwks: "https://id.example/keys" }, /--jwks needs --issuer/],
    [{ scope: ["a=b"] }, /--scope needs --issuer/],
    [{ issuer: "https://id.example" }, /--issuer needs --jwks/],
    [{ ...issued, auth: false }, /--no-auth and --issuer contradict/],
    [{ ...issued, mcpToken: "t" }, /--mcp-token and --issuer contradict/],
    [{ ...issued, jwks: "keys" }, /--jwks has to be a URL; got "keys"/],
    [{ ...issued, scope: ["tools:run"] }, /--scope is METHOD=SCOPE.*got "tools:run"/],
  ])("%j is refused", (flags, why) => {
    expect(() => settings({ http: true, ...flags })).toThrow(why);
  });

  test("makes the token of the environment useless, which is told", () => {
    expect(settings(issued, { MCP_TOKEN: "t" }).warnings).toEqual(["MCP_TOKEN has no effect beside --issuer"]);
  });
});

describe("what contradicts itself is refused", () => {
  test("a token, and nobody to show it", () => {
    expect(() => settings({ http: true, auth: false, mcpToken: "secret" })).toThrow(UsageError);
  });

  test("a token that no header carries", () => {
    expect(() => settings({ http: true, mcpToken: "two words" })).toThrow(/visible ASCII/);
    expect(() => settings({ http: true }, { MCP_TOKEN: "schlüssel" })).toThrow(/MCP_TOKEN/);
  });
});

describe("what has no effect is told", () => {
  const warned = (flags: JupyterFlags, env: Record<string, string> = {}) => settings(flags, env).warnings;

  test("flags of HTTP on stdio", () => {
    expect(warned({ port: 1, host: "h", mcpToken: "t", allowHost: ["a"], allowOrigin: ["a"], auth: false })).toEqual(
      ["--port", "--host", "--mcp-token", "--allow-host", "--allow-origin", "--no-auth"].map((flag) =>
        expect.stringMatching(`^${flag} has no effect on stdio`),
      ),
    );
  });

  test("the token of a server that is not named", () => {
    expect(warned({ token: "t" })).toEqual([expect.stringMatching(/^--token has no effect without/)]);
    expect(warned({}, { JUPYTER_TOKEN: "t" })).toEqual([expect.stringMatching(/^JUPYTER_TOKEN has no effect without/)]);
    expect(warned({ token: "t", jupyterUrl: "http://j" })).toEqual([]);
  });

  test("the folder of a server that somebody else runs", () => {
    expect(warned({ root: "/nb", jupyterUrl: "http://j" })).toEqual([expect.stringMatching(/^--root has no effect/)]);
  });

  test("the store class beside --store", () => {
    expect(warned({ store: "memory" }, { JUPYTER_MCP_TASK_STORE_CLASS: "m:C" })).toHaveLength(1);
  });

  test("variables of jupyter-mcp-server that mean nothing here, with what does", () => {
    expect(warned({}, { JUPYTER_PASSWORD: "p", TRANSPORT: "None", RUNTIME_URL: "http://r" })).toEqual([
      expect.stringMatching(/^JUPYTER_PASSWORD has no effect here; .*JUPYTER_TOKEN/),
      expect.stringMatching(/^RUNTIME_URL has no effect here; .*JUPYTER_URL/),
    ]);
  });

  test("a door that was asked to stand open says to whom", () => {
    expect(warned({ http: true, auth: false })).toEqual([expect.stringContaining("every program on this machine")]);
    expect(warned({ http: true, auth: false, host: "0.0.0.0" }, { MCP_TOKEN: "t" })).toEqual([
      "MCP_TOKEN has no effect beside --no-auth",
      expect.stringContaining("everybody who reaches 0.0.0.0"),
    ]);
  });
});
