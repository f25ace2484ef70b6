import { describe, expect, it } from "vitest";
import { Scopes } from "../../src/auth/scopes.js";
import { HttpClient, raw, serving } from "../http/http-client.js";
import { envelope } from "../wire/raw-client.js";
import { OPTIONAL } from "../wire/servers.js";
import { authorizationServer } from "./authorization-server.js";

const TABLE = { "*": ["mcp"], "tools/call": ["run"], "tasks/*": ["read"], "tasks/cancel": ["write"] };

describe("the table", () => {
  const message = (method: string, params?: object) => ({ jsonrpc: "2.0", id: 1, method, params });

  it.each<[string, unknown, string[]]>([
    ["a method of its own row", message("tools/call"), ["mcp", "run"]],
    ["a method of two rows", message("tasks/cancel"), ["mcp", "read", "write"]],
    ["the other name of a method", message("io.datalayer/tasks/cancel"), ["mcp", "read", "write"]],
    ["a method of no row", message("ping"), ["mcp"]],
    ["a method that only begins like a row", message("tools/callback"), ["mcp"]],
    ["a method named like a member of every object", message("constructor"), ["mcp"]],
    ["a notification", { jsonrpc: "2.0", method: "notifications/initialized" }, ["mcp"]],
    ["a response", { jsonrpc: "2.0", id: 1, result: {} }, ["mcp"]],
    ["what is no message", "x", ["mcp"]],
    ["a stream, which has no body", undefined, ["mcp"]],
    ["a batch, all of it", [message("ping"), message("tools/call"), message("tasks/get")], ["mcp", "run", "read"]],
    ["a subscription to tasks", message("subscriptions/listen", { notifications: { taskIds: [] } }), ["mcp", "read"]],
    ["a subscription to something else", message("subscriptions/listen", { notifications: {} }), ["mcp"]],
  ])("%s", (_what, body, needed) => {
    expect(new Set(new Scopes(TABLE).neededBy(body))).toEqual(new Set(needed));
  });

  it("that is not there needs nothing", () => {
    expect(new Scopes().neededBy(message("tools/call"))).toEqual([]);
  });
});

async function guarded() {
  const issuer = await authorizationServer();
  const { audience: resource } = issuer;
  const auth = { issuer: issuer.issuer, jwks: issuer.jwks, resource, scopes: TABLE };
  const scene = await serving((tasks, server) => tasks.registerTool(server, "dig", OPTIONAL, () => "dug"), { auth });
  const as = async (scope: string) =>
    new HttpClient(scene.serving.url, { authorization: `Bearer ${await issuer.sign({ scope })}` });
  return { ...scene, as, issuer };
}

describe("a request whose token does not allow it", () => {
  it("is refused with 403 and told which scopes it needs; the session goes on", async () => {
    const { as } = await guarded();
    const client = await as("mcp run read");
    await client.initialize();
    const { taskId } = await client.callTask("dig");
    expect((await client.request("tasks/get", { taskId })).result).toMatchObject({ taskId });
    const refused = await client.post("tasks/cancel", { taskId });
    expect(refused.status).toBe(403);
    expect(refused.headers.get("www-authenticate")).toBe(
      'Bearer error="insufficient_scope", error_description="The bearer token does not allow this; it lacks the scope write.", scope="mcp read write", resource_metadata="https://mcp.example/.well-known/oauth-protected-resource/mcp"',
    );
    expect((await client.request("tasks/get", { taskId })).result).toMatchObject({ taskId });
  });

  it("is refused outside a session, under the other names of a method, in a batch and in the 2026 era alike", async () => {
    const { as, serving: served } = await guarded();
    const client = await as("mcp");
    const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "dig" } };
    const post = async (body: unknown) => (await raw(served.url, "POST", client.headers, JSON.stringify(body))).status;
    expect(await post(call)).toBe(403);
    expect(await post([{ jsonrpc: "2.0", id: 2, method: "ping" }, call])).toBe(403);
    expect(await post({ ...call, params: { name: "dig", _meta: envelope() } })).toBe(403);
    expect(await post({ ...call, method: "io.datalayer/tasks/list", params: {} })).toBe(403);
    expect(await post({ ...call, method: "ping" })).toBe(200);
  });

  it("is refused before it is known whether the task is there: what exists cannot be told from the answer", async () => {
    const { as } = await guarded();
    const owner = await as("mcp run read write");
    const { taskId } = await owner.callTask("dig");
    const stranger = await as("mcp");
    const answers = await Promise.all(
      [taskId, "tsk_invented"].map(async (id) => (await stranger.post("tasks/get", { taskId: id })).text()),
    );
    expect(answers[0]).toBe(answers[1]);
  });

  it("gets no stream and ends no session without what every request needs", async () => {
    const { as, serving: served } = await guarded();
    const client = await as("mcp");
    await client.initialize();
    const weaker = { ...client.headers, authorization: (await as("read")).headers.authorization ?? "" };
    for (const method of ["GET", "DELETE"]) expect((await raw(served.url, method, weaker)).status).toBe(403);
    expect((await client.request("ping")).result).toEqual({});
  });

  it.each([{ scp: ["mcp", "run"] }, { scp: "mcp run" }])("%j names scopes as well", async (claims) => {
    const { issuer, serving: served } = await guarded();
    const client = new HttpClient(served.url, { authorization: `Bearer ${await issuer.sign(claims)}` });
    expect((await client.request("tools/call", { name: "dig" })).result).toBeDefined();
  });
});
