/** A 2026-era client that declared our extension alone is sent no requests: it sees what is asked, and answers it, by our own methods. */
import { expect, it } from "vitest";
import { eventually } from "../../../../test/fixtures/eventually.js";
import { modernScene } from "../wire/modern-client.js";
import { OPTIONAL } from "../wire/servers.js";

const DATALAYER = "io.datalayer/tasks";
const FORM = { message: "?", requestedSchema: { type: "object", properties: { a: { type: "string" } } } } as const;

async function asking() {
  const { tasks, connect } = await modernScene((bound, server) =>
    bound.registerTool(server, "asks", OPTIONAL, async (_args, ctx) =>
      JSON.stringify(await Promise.all([ctx.elicit(FORM), ctx.elicit({ ...FORM, message: "??" })])),
    ),
  );
  const client = connect({ extensions: [DATALAYER], capabilities: { elicitation: {} } });
  const { result } = await client.call("asks", { task: {} });
  const { taskId } = (result as { task: { taskId: string } }).task;
  const questions = async () => (await client.get(taskId)).inputRequests as Record<string, unknown> | undefined;
  await eventually(async () => Object.keys((await questions()) ?? {}).length === 2);
  const update = (inputResponses: object) => client.request(`${DATALAYER}/update`, { taskId, inputResponses });
  return { tasks, client, taskId, questions, update, keys: Object.keys((await questions()) ?? {}) };
}

it("is shown what is asked by tasks/get and answers one by one; the result that waits goes out", async () => {
  const { client, taskId, questions, update, keys } = await asking();
  const [first, second] = keys as [string, string];
  expect((await questions())?.[first]).toEqual({ method: "elicitation/create", params: { mode: "form", ...FORM } });
  const result = client.request(`${DATALAYER}/result`, { taskId });
  await update({ [first]: { action: "accept", content: { a: "x" } }, unknown: {} });
  expect(Object.keys((await questions()) ?? {})).toEqual([second]);
  await update({ [second]: { action: "decline" } });
  expect((await result).result).toMatchObject({
    content: [{ text: '[{"action":"accept","content":{"a":"x"}},{"action":"decline"}]' }],
  });
  expect(await questions()).toBeUndefined();
});

it("an answer that its schema refuses changes nothing", async () => {
  const { questions, update, keys } = await asking();
  const refused = await update({ [keys[0] as string]: { action: "accept", content: { a: 1 } } });
  expect(refused.error).toMatchObject({ code: -32602, message: expect.stringContaining("requested schema") });
  expect(Object.keys((await questions()) ?? {})).toEqual(keys);
});

it("there is no tasks/update in our contract", async () => {
  const { client, taskId, keys } = await asking();
  const inputResponses = { [keys[0] as string]: { action: "cancel" } };
  expect((await client.request("tasks/update", { taskId, inputResponses })).error?.code).toBe(-32601);
});

it("a client that did not declare that it can be asked is not, and the tool hears why", async () => {
  const { connect } = await modernScene((bound, server) =>
    bound.registerTool(server, "asks", OPTIONAL, (_args, ctx) => ctx.elicit(FORM)),
  );
  const client = connect({ extensions: [DATALAYER] });
  const { result } = await client.call("asks", { task: {} });
  const { taskId } = (result as { task: { taskId: string } }).task;
  await eventually(async () => (await client.get(taskId)).status === "failed");
  expect((await client.get(taskId)).statusMessage).toContain("did not declare the capability");
});
