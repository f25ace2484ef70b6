/** -32021 over HTTP: the same answer wherever in the code it arises, with the status that 2026-07-28 gives it while there is one to give. */
import { FakeClock } from "@claimcheck/core/testing";
import { expect, it } from "vitest";
import type { AskFirst } from "../../src/index.js";
import { envelopeOf } from "../../src/testing/index.js";
import { gate } from "../wire/raw-client.js";
import { OPTIONAL } from "../wire/servers.js";
import { HttpClient, messagesOf, serving } from "./http-client.js";

const TASKS = { extensions: { "io.modelcontextprotocol/tasks": {} } };
const FORMS = { elicitation: { form: {} } };

const who = { who: { message: "Who?", requestedSchema: { type: "object", properties: {} } } } as const;

async function scene(askFirst: AskFirst = () => who) {
  const clock = new FakeClock();
  const { serving: served } = await serving(
    (tasks, server) => {
      tasks.registerTool(server, "must", { execution: { taskSupport: "required" } }, () => "dug");
      tasks.registerTool(server, "asks", { ...OPTIONAL, askFirst: askFirst as never }, () => "dug");
    },
    { auth: "none", clock },
    { ownership: "single-user" },
  );
  return { url: served.url, clock };
}

function post(url: string, method: string, name: string, params: object): Promise<Response> {
  const headers = { "mcp-protocol-version": "2026-07-28", "mcp-method": method, "mcp-name": name };
  return new HttpClient(url, headers).post(method, { ...params, _meta: envelopeOf({}) }, { id: 7 });
}

const call = (url: string, name: string) => post(url, "tools/call", name, { name, arguments: {} });

it.each<[string, (url: string) => Promise<Response>, object]>([
  ["a call that is refused before it is dispatched", (url) => call(url, "must"), TASKS],
  ["a method's handler", (url) => post(url, "tasks/cancel", "tsk_x", { taskId: "tsk_x" }), TASKS],
  ["a call on its way to its tool", (url) => call(url, "asks"), FORMS],
])("of %s comes with 400", async (_what, send, requiredCapabilities) => {
  const { url } = await scene();
  const response = await send(url);
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ id: 7, error: { code: -32021, data: { requiredCapabilities } } });
});

it("of a call that is answered with a stream already is in the stream", async () => {
  const begun = gate();
  const decided = gate();
  const { url, clock } = await scene(async () => {
    begun.open();
    await decided.promise;
    return who;
  });
  const responded = call(url, "asks");
  await begun.promise;
  await clock.advance(5_000);
  const response = await responded;
  expect(response.status).toBe(200);
  decided.open();
  const messages: unknown[] = [];
  for await (const message of messagesOf(response)) messages.push(message);
  expect(messages).toMatchObject([{ id: 7, error: { code: -32021, data: { requiredCapabilities: FORMS } } }]);
});
