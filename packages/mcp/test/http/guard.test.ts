import { createServer, request as httpRequest } from "node:http";
import type { AddressInfo } from "node:net";
import type { AuthInfo } from "@modelcontextprotocol/server";
import { describe, expect, it } from "vitest";
import { createTasks, type ServeHttpOptions, serveHttp } from "../../src/index.js";
import { OPTIONAL } from "../wire/servers.js";
import { ACCEPT, HttpClient, raw, serving } from "./http-client.js";

const METHODS = ["POST", "GET", "DELETE"] as const;
const nothing = () => {};

describe("Host and Origin", () => {
  it.each([
    ["a foreign host", { host: "evil.example" }],
    ["a foreign host with the right port", { host: "evil.example:PORT" }],
    ["a host that only begins like ours", { host: "localhost.evil.example" }],
    ["a foreign origin", { origin: "https://evil.example" }],
    ["the origin null", { origin: "null" }],
    ["an origin that is none", { origin: "file://" }],
    ["a foreign origin beside our host", { host: "localhost", origin: "http://localhost.evil.example" }],
  ])("%s is refused with 403 before any JSON is parsed, on every method", async (_what, headers) => {
    const { serving: served } = await serving(nothing);
    for (const method of METHODS) {
      const named = Object.fromEntries(
        Object.entries(headers).map(([name, value]) => [name, value.replace("PORT", String(served.port))]),
      );
      const { status } = await raw(served.url, method, { ...ACCEPT, ...named }, method === "POST" ? "{not json" : "");
      expect([method, status]).toEqual([method, 403]);
    }
  });

  it.each([
    {},
    { host: "LOCALHOST" },
    { host: "[::1]:80" },
    { origin: "http://localhost:5173" },
    { origin: "http://127.0.0.1" },
  ])("%j is let in", async (headers) => {
    const { serving: served } = await serving(nothing);
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });
    expect((await raw(served.url, "POST", { ...ACCEPT, ...headers }, body)).status).toBe(200);
  });

  it.each(["https://app.example", "app.example:443", "app.example/", "::1", "two names", ""])(
    "%j is no name to let in, and is refused at the start",
    async (name) => {
      const tasks = createTasks();
      for (const option of ["allowedHosts", "allowedOrigins"]) {
        const starting = serveHttp(tasks, nothing as never, { auth: "none", [option]: [name] });
        await expect(starting).rejects.toThrow(`${option} must be a list of host names without scheme and port`);
      }
    },
  );

  it("the lists can be set", async () => {
    const options: ServeHttpOptions = { auth: "none", allowedHosts: ["MCP.Example"], allowedOrigins: ["app.example"] };
    const { serving: served } = await serving(nothing, options);
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });
    const status = async (headers: Record<string, string>) =>
      (await raw(served.url, "POST", { ...ACCEPT, ...headers }, body)).status;
    expect(await status({ host: "mcp.example", origin: "https://app.example" })).toBe(200);
    expect(await status({ host: "mcp.example", origin: "https://mcp.example" })).toBe(403);
    expect(await status({ host: "localhost" })).toBe(403);
  });
});

describe("the bearer token", () => {
  it.each([
    undefined,
    "",
    "Bearer",
    "Bearer ",
    "Basic c2VjcmV0",
    "Bearer wrong",
    "Bearer secre",
    "Bearer secrets",
    "secret",
  ])("%j is refused with 401 before any JSON is parsed, on every method", async (authorization) => {
    const { serving: served } = await serving(nothing, { auth: { token: "secret" } });
    for (const method of METHODS) {
      const headers = { ...ACCEPT, ...(authorization !== undefined && { authorization }) };
      const refused = await raw(served.url, method, headers, method === "POST" ? "{not json" : "");
      expect([method, refused.status]).toEqual([method, 401]);
      expect(refused.headers["www-authenticate"]).toMatch(/^Bearer/);
    }
  });

  it.each(["Bearer secret", "bearer secret", "BEARER  secret"])("%j is let in", async (authorization) => {
    const { serving: served } = await serving(nothing, { auth: { token: "secret" } });
    expect((await new HttpClient(served.url, { authorization }).initialize()).result).toBeDefined();
  });

  it("is one principal: whoever holds it collects its tasks, from another session and outside one", async () => {
    const { serving: served } = await serving(
      (tasks, server) => tasks.registerTool(server, "dig", OPTIONAL, () => "dug"),
      { auth: { token: "secret" } },
    );
    const holder = () => new HttpClient(served.url, { authorization: "Bearer secret" });
    const first = holder();
    await first.initialize();
    const { taskId } = await first.callTask("dig");
    await first.delete();
    const second = holder();
    expect((await second.request("tasks/result", { taskId })).result).toMatchObject({ content: [{ text: "dug" }] });
  });

  it("can be verified by the server; what it proves decides whose the tasks are", async () => {
    const verifyToken = async (token: string): Promise<AuthInfo | null> =>
      token.startsWith("ok-") ? { token, clientId: "c", scopes: [], extra: { sub: token.split("-")[1] } } : null;
    const { serving: served } = await serving(
      (tasks, server) => tasks.registerTool(server, "dig", OPTIONAL, () => "dug"),
      { auth: { verifyToken } },
    );
    const as = (token: string) => new HttpClient(served.url, { authorization: `Bearer ${token}` });
    const { taskId } = await as("ok-ann-1").callTask("dig");
    expect((await as("ok-ann-2").request("tasks/get", { taskId })).result).toMatchObject({ taskId });
    expect((await as("ok-bob-1").request("tasks/get", { taskId })).error?.message).toBe("No such task.");
    expect((await as("forged").post("ping", {})).status).toBe(401);
  });

  it("a verifier that fails lets nobody in, and says nothing of why", async () => {
    const verifyToken = () => Promise.reject(new Error("ldap://secret is down"));
    const { serving: served, errors } = await serving(nothing, { auth: { verifyToken } });
    const response = await new HttpClient(served.url, { authorization: "Bearer x" }).post("ping", {});
    expect(response.status).toBe(503);
    expect(await response.text()).not.toContain("ldap");
    expect(errors).toHaveLength(1);
  });
});

describe("starting", () => {
  it.each([
    undefined,
    {},
    "everybody",
    { token: undefined },
    { token: "a", verifyToken: async () => null },
    { token: "a", issuer: "https://id.example", jwks: { keys: [] } },
  ])("auth %j does not say who may come in: it is refused, and no port opened", async (auth) => {
    await expect(serveHttp(createTasks(), () => null as never, { auth: auth as never })).rejects.toThrow(
      "Say who may come in",
    );
  });

  it.each(["", " ", "two words", "ütf"])("the token %j, which no header can carry, is refused", async (token) => {
    await expect(serveHttp(createTasks(), () => null as never, { auth: { token } })).rejects.toThrow("token must be");
  });

  it("a port that is taken is an error that names it and says what helps", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => other.once("listening", resolve));
    const { port } = other.address() as AddressInfo;
    const tasks = createTasks();
    await expect(serveHttp(tasks, () => null as never, { auth: "none", port })).rejects.toMatchObject({
      code: "EADDRINUSE",
      message: `serveHttp cannot listen: port ${port} of 127.0.0.1 is taken: end what listens there, or give another port; 0 takes any free one`,
    });
    await tasks.close();
    other.close();
  });

  it("only its path is served", async () => {
    const { serving: served } = await serving(nothing, { auth: "none", path: "/tools" });
    expect(served.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/tools$/);
    expect((await fetch(served.url.replace("/tools", "/mcp"), { method: "POST" })).status).toBe(404);
    expect((await new HttpClient(`${served.url}?x=1`).initialize()).result).toBeDefined();
  });
});

describe("bodies", () => {
  it("one that is too large is refused with 413, declared or not", async () => {
    const { serving: served } = await serving(nothing, { auth: "none", maxBodyBytes: 1000 });
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping", params: { pad: "x".repeat(2000) } });
    expect((await raw(served.url, "POST", ACCEPT, body)).status).toBe(413);
    const stream = new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode(body));
        controller.close();
      },
    });
    const init = { method: "POST", headers: ACCEPT, body: stream, duplex: "half" } as RequestInit;
    expect((await fetch(served.url, init)).status).toBe(413);
  });

  it.each([
    ["is too large", "/mcp", {}, 413],
    ["is not authenticated", "/mcp", { Authorization: "Bearer wrong" }, 401],
    ["is for nobody here", "/elsewhere", {}, 404],
  ])("a request of 16 MiB that %s gets its answer, sent whole or in chunks", async (_why, path, headers, status) => {
    const { serving: served } = await serving(nothing, { auth: { token: "secret" } });
    const url = new URL(path, served.url).href;
    const body = Buffer.alloc(16 * 1024 * 1024, "x");
    const given = { ...ACCEPT, Authorization: "Bearer secret", ...headers };
    for (const chunked of [false, true]) {
      const answer = await sendAll(url, given, body, chunked);
      expect(answer.status).toBe(status);
      expect(JSON.parse(answer.body)).toMatchObject({ jsonrpc: "2.0", error: { code: -32000 }, id: null });
    }
  });

  it.each(["", "{", "undefined", "\u0000", "[1,2"])("%j, which is not JSON, is a parse error", async (body) => {
    const { serving: served } = await serving(nothing);
    const refused = await raw(served.url, "POST", ACCEPT, body);
    expect(refused.status).toBe(400);
    expect(JSON.parse(refused.body)).toMatchObject({ jsonrpc: "2.0", error: { code: -32700 }, id: null });
  });

  it.each(["42", "null", "{}", "[]", '"x"', '{"jsonrpc":"2.0"}', '{"jsonrpc":"1.0","id":1,"method":"ping"}'])(
    "%s, which is no message, is an error, and the next request is served",
    async (body) => {
      const { serving: served } = await serving(nothing);
      const client = new HttpClient(served.url);
      await client.initialize();
      for (const headers of [ACCEPT, client.headers]) {
        const refused = await raw(served.url, "POST", headers, body);
        expect(refused.status).toBeGreaterThanOrEqual(400);
        expect(refused.status).toBeLessThan(500);
      }
      expect((await client.request("ping")).result).toEqual({});
    },
  );
});

/** Sends everything before it reads, as many clients do. */
function sendAll(
  url: string,
  headers: Record<string, string>,
  body: Buffer,
  chunked: boolean,
): Promise<{ status: number | undefined; body: string }> {
  return new Promise((resolve, reject) => {
    const length = chunked ? {} : { "Content-Length": String(body.length) };
    const request = httpRequest(url, { method: "POST", headers: { ...headers, ...length } }, async (response) => {
      let text = "";
      for await (const chunk of response) text += chunk;
      resolve({ status: response.statusCode, body: text });
    });
    request.on("error", reject);
    for (let sent = 0; sent < body.length; sent += 65_536) request.write(body.subarray(sent, sent + 65_536));
    request.end();
  });
}
