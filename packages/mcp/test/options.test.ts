/** What authors get wrong, and what they are told: at once, and before anything is registered or opened. */
import { McpServer, Server } from "@modelcontextprotocol/server";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createHttpHandler, createTasks, serveHttp, serveStdio } from "../src/index.js";

const newServer = () => new McpServer({ name: "test", version: "0" });
const handler = () => "done";

describe("createTasks", () => {
  it.each<[object, string]>([
    [{ fallbackTool: true }, "createTasks has no option fallbackTool; it has store, runner,"],
    [{ limits: { taskPerOwner: 3 } }, "limits has no option taskPerOwner; it has tasksPerOwner,"],
    [{ ownership: "me" }, 'ownership must be "session" or "principal" or "single-user"; got "me"'],
    [{ contract: "2025" }, 'contract must be "2025-11-25" or "datalayer"'],
    [{ isErrorAs: "done" }, 'isErrorAs must be "failed" or "completed"'],
    [{ store: "sqlite" }, "store must be a task store"],
    [{ runner: {} }, "runner must be a runner"],
    [{ logger: () => {} }, "logger must be a logger, with the methods debug, info, warn, error; got a function"],
    [{ keepHeaders: "x-trace" }, "keepHeaders must be a list of strings"],
    [{ maxOutputBytes: -1 }, "maxOutputBytes must be a number of at least 0; got -1"],
    [{ fallbackTools: "yes" }, "fallbackTools must be true or false"],
    [{ workerThreads: { size: 3 } }, "workerThreads has no option size"],
  ])("refuses %o", (options, why) => {
    expect(() => createTasks(options)).toThrow(why);
  });
});

describe("registerTool", () => {
  it.each<[object, string]>([
    [{ desription: "Digs." }, 'The tool "dig" has no option desription; it has title, description,'],
    [{ taskSupport: "optional" }, "has no option taskSupport"],
    [{ execution: { taskSuport: "optional" } }, "has no option taskSuport; it has taskSupport, runner."],
    [{ execution: { taskSupport: "optinal" } }, 'taskSupport must be "forbidden" or "optional" or "required"'],
    [{ execution: "optional" }, 'execution of the tool "dig" takes an object of options; got "optional"'],
    [{ execution: null }, "takes an object of options; got null"],
    [{ maxRunMs: -1 }, "maxRunMs must be a finite number of at least 1; got -1"],
    [{ ttl: "1h" }, 'ttl must be a finite number of at least 0; got "1h"'],
    [{ immediateResponse: 3 }, "immediateResponse must be a string, or a function of the arguments; got 3"],
    [{ inputSchema: { depth: z.number() } }, "inputSchema must be a Standard Schema, such as z.object({ … })"],
    [{ outputSchema: { type: "object" } }, "outputSchema must be a Standard Schema"],
    [{ promoteAfterMs: Number.NaN }, "promoteAfterMs must be"],
    [{ ttl: 1000 }, 'ttl of the tool "dig" is about tasks, and there are none of it'],
    [{ execution: { taskSupport: "forbidden" }, recovery: "retry" }, 'give it execution.taskSupport "optional" or'],
  ])("refuses %o, and registers nothing", (config, why) => {
    const tasks = createTasks();
    const server = newServer();
    expect(() => tasks.registerTool(server, "dig", config, handler)).toThrow(why);
    expect(() => tasks.registerTool(server, "dig", {}, handler)).not.toThrow();
  });

  it.each([undefined, new Server({ name: "low-level", version: "0" }, {})])(
    "refuses a server that is none of the SDK's high level",
    (server) => {
      expect(() => createTasks().registerTool(server as never, "dig", {}, handler)).toThrow(
        "Tasks are served on an McpServer of @modelcontextprotocol/server; this is none.",
      );
    },
  );

  it("refuses a server of another copy of the SDK, which would answer one request and fail the next", () => {
    const foreign = new (class McpServer {
      registerTool() {}
    })();
    expect(() => createTasks().registerTool(foreign as never, "dig", {}, handler)).toThrow(
      "this one is of another copy of it. Install one alone (npm ls @modelcontextprotocol/server)",
    );
  });

  it("refuses options in place of which the handler was given", () => {
    expect(() => createTasks().registerTool(newServer(), "dig", handler as never, handler)).toThrow(
      'The tool "dig" takes an object of options; got a function.',
    );
  });
});

describe("serving", () => {
  it.each<[object | undefined, string]>([
    [undefined, "serveHttp takes an object of options; got undefined"],
    [{ auth: "none", prot: 4040 }, "serveHttp has no option prot; it has auth, port,"],
    [{ auth: "none", port: "4040" }, "port must be a whole number from 0 to 65535"],
    [{ auth: "none", port: Number.NaN }, "got NaN"],
    [{ auth: "none", path: "mcp" }, "path must be a path that begins with a slash"],
    [{ auth: "none", maxSessions: 0 }, "maxSessions must be"],
    [
      { auth: "none", allowedHosts: "example.com" },
      "allowedHosts must be a list of host names without scheme and port",
    ],
    [{ auth: { token: "t", tokn: "t" } }, "auth with token has no option tokn"],
    [{ auth: { issuer: "https://id.example", jwks: { keys: [] }, scope: {} } }, "auth with issuer has no option scope"],
    [{ auth: { verifyToken: true } }, "auth with verifyToken: verifyToken must be a function"],
    [
      { auth: { verifyToken: handler, scopes: { "*": "mcp" } } },
      "scopes must be a table of lists of scopes, by method",
    ],
  ])("over HTTP refuses %o", async (options, why) => {
    await expect(serveHttp(createTasks(), newServer, options as never)).rejects.toThrow(why);
  });

  it.each<[object, string]>([
    [{ port: 4040 }, "createHttpHandler has no option port; it has sessions, maxSessions,"],
    [{ resumeMs: -1 }, "resumeMs must be a finite number of at least 0; got -1"],
  ])("as a function of a request refuses %o", async (options, why) => {
    await expect(createHttpHandler(createTasks(), newServer, options as never)).rejects.toThrow(why);
  });

  it("refuses a server in place of what makes one", async () => {
    const why = "takes a function that makes an McpServer, called for each connection";
    await expect(serveHttp(createTasks(), newServer() as never, { auth: "none" })).rejects.toThrow(`serveHttp ${why}`);
    await expect(serveStdio(createTasks(), newServer() as never)).rejects.toThrow(`serveStdio ${why}`);
  });

  it("on stdio refuses what is no option", async () => {
    await expect(serveStdio(createTasks(), newServer, { input: null } as never)).rejects.toThrow("no option input");
  });
});
