/** What a request's headers may look like, and what they may not say. */
import { describe, expect, it } from "vitest";
import { envelope } from "../wire/raw-client.js";
import { OPTIONAL } from "../wire/servers.js";
import { ACCEPT, HttpClient, type Raw, raw, serving } from "./http-client.js";

const TASKS = "io.modelcontextprotocol/tasks";

/** A server with a task of 2026-07-28 that has ended, and how often its store was read. */
async function scene() {
  const { serving: served, tasks } = await serving(
    (own, server) => own.registerTool(server, "dig", OPTIONAL, () => "dug"),
    { auth: "none" },
    { ownership: "single-user" },
  );
  const ask = (method: string, params: object, headers: Record<string, string>): Promise<Raw> => {
    const body = { jsonrpc: "2.0", id: 1, method, params: { ...params, _meta: envelope(TASKS) } };
    return raw(
      served.url,
      "POST",
      { ...ACCEPT, "mcp-protocol-version": "2026-07-28", ...headers },
      JSON.stringify(body),
    );
  };
  const created = await ask(
    "tools/call",
    { name: "dig", arguments: {} },
    { "mcp-method": "tools/call", "mcp-name": "dig" },
  );
  const { taskId } = JSON.parse(created.body).result as { taskId: string };
  return { served, tasks, ask, taskId };
}

describe("of a request about a task", () => {
  it.each([
    ["white space around them", (id: string) => ({ "mcp-method": " tasks/get\t", "mcp-name": `  ${id} \t` })],
    ["names in any case", (id: string) => ({ "MCP-METHOD": "tasks/get", "mCp-NaMe": id })],
    [
      "what is accepted with weights",
      (id: string) => named(id, { accept: "text/event-stream;q=0.5, application/json;q=0.9" }),
    ],
    [
      "what is accepted in other order and case",
      (id: string) => named(id, { accept: "Text/Event-Stream,Application/JSON" }),
    ],
    ["a content type with a charset", (id: string) => named(id, { "content-type": "application/json; charset=utf-8" })],
  ])("%s is taken", async (_what, headersOf) => {
    const { ask, taskId } = await scene();
    const { status, body } = await ask("tasks/get", { taskId }, headersOf(taskId));
    expect([status, JSON.parse(body).result?.taskId]).toEqual([200, taskId]);
  });

  it.each([
    ["a method that is another's", (id: string) => ({ "mcp-method": "tasks/cancel", "mcp-name": id })],
    ["no method", (id: string) => ({ "mcp-name": id })],
    ["no name", () => ({ "mcp-method": "tasks/get" })],
    ["an empty name", () => ({ "mcp-method": "tasks/get", "mcp-name": "" })],
    ["another task's id", (id: string) => ({ "mcp-method": "tasks/get", "mcp-name": id.replace(/.$/, "~") })],
    ["the id in another case", (id: string) => ({ "mcp-method": "tasks/get", "mcp-name": id.toUpperCase() })],
    [
      "white space inside the id",
      (id: string) => ({ "mcp-method": "tasks/get", "mcp-name": `${id.slice(0, 9)} ${id.slice(9)}` }),
    ],
    ["the id twice", (id: string) => ({ "mcp-method": "tasks/get", "mcp-name": `${id}, ${id}` })],
  ])("%s is refused with 400 and -32020, before anything is looked up", async (_what, headersOf) => {
    const { ask, tasks, taskId } = await scene();
    const looked: string[] = [];
    tasks.runtime.get = (_owner, id) => {
      looked.push(id);
      return Promise.resolve(null);
    };
    const { status, body } = await ask("tasks/get", { taskId }, headersOf(taskId) as Record<string, string>);
    expect([status, JSON.parse(body).error?.code, looked]).toEqual([400, -32020, []]);
    await ask("tasks/get", { taskId }, named(taskId, {}));
    expect(looked).toEqual([taskId]);
  });

  it("they mean nothing in a session of 2025", async () => {
    const { served } = await scene();
    const client = new HttpClient(served.url, { "mcp-method": "tools/call", "mcp-name": "nobody" });
    await client.initialize();
    const { taskId } = await client.callTask("dig");
    expect((await client.request("tasks/get", { taskId })).result).toMatchObject({ taskId });
  });
});

function named(taskId: string, more: Record<string, string>): Record<string, string> {
  return { "mcp-method": "tasks/get", "mcp-name": taskId, ...more };
}
