/** Where over HTTP a client hears what a tool logs. */
import { expect, it } from "vitest";
import { eventually } from "../../../../test/fixtures/eventually.js";
import { envelopeOf } from "../../src/testing/index.js";
import { OPTIONAL } from "../wire/servers.js";
import { HttpClient, messagesOf, serving } from "./http-client.js";

const digging = () =>
  serving((tasks, server) =>
    tasks.registerTool(server, "dig", OPTIONAL, (_args, ctx) => {
      ctx.log("info", "low");
      ctx.log("error", "high", "spade");
      return "dug";
    }),
  );

const DIG = { name: "dig", arguments: {} };
const DUG = { result: { content: [{ text: "dug" }] } };
const message = (data: string) => ({ method: "notifications/message", params: { data } });

/** All that comes on the stream of one call. */
async function called(client: HttpClient, params: object): Promise<unknown[]> {
  const heard: unknown[] = [];
  for await (const said of messagesOf(await client.post("tools/call", { ...DIG, ...params }))) heard.push(said);
  return heard;
}

it("a direct call of a session is heard on its own stream, from the level that the session has set", async () => {
  const { serving: served } = await digging();
  const [client, other] = [new HttpClient(served.url), new HttpClient(served.url)];
  await client.initialize();
  await other.initialize();
  await client.request("logging/setLevel", { level: "error" });
  const stream = await client.listen();
  expect(await called(client, {})).toMatchObject([message("high"), DUG]);
  expect(await called(other, {})).toMatchObject([message("low"), message("high"), DUG]);
  expect(stream.heard).toEqual([]);
  stream.close();
});

it("a task of a session is heard on the session's stream", async () => {
  const { serving: served } = await digging();
  const client = new HttpClient(served.url);
  await client.initialize();
  const stream = await client.listen();
  const { taskId } = await client.callTask("dig");
  await eventually(() => stream.heard.length === 3);
  const _meta = { "io.modelcontextprotocol/related-task": { taskId } };
  expect(stream.heard.slice(0, 2).map(({ params }) => params)).toEqual([
    { level: "info", data: "low", _meta },
    { level: "error", logger: "spade", data: "high", _meta },
  ]);
  stream.close();
});

it("a call of 2026-07-28 is heard on its own stream if it asks for it, and answered without one if not", async () => {
  const { serving: served } = await digging();
  const client = new HttpClient(served.url, {
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": "tools/call",
    "mcp-name": "dig",
  });
  const _meta = envelopeOf({});
  const asks = { ..._meta, "io.modelcontextprotocol/logLevel": "error" };
  expect(await called(client, { _meta: asks })).toMatchObject([message("high"), DUG]);
  expect(await called(client, { _meta })).toMatchObject([DUG]);
});
