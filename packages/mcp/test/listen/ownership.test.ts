/** Whose tasks a subscription tells of. */
import type { McpServer } from "@modelcontextprotocol/server";
import { expect, it } from "vitest";
import { eventually } from "../../../../test/fixtures/eventually.js";
import type { Tasks } from "../../src/index.js";
import { gate } from "../wire/raw-client.js";
import { OPTIONAL } from "../wire/servers.js";
import { acknowledged, type Carried, carriers, changes, type Listener } from "./carriers.js";

const verifyToken = async (token: string) => ({ token, clientId: token, scopes: [] });

function digging(): { register: (tasks: Tasks, server: McpServer) => void; open: (text: string) => void } {
  const { promise, open } = gate<string>();
  return { register: (tasks, server) => void tasks.registerTool(server, "dig", OPTIONAL, () => promise), open };
}

async function create(client: Listener): Promise<string> {
  const { result } = await client.request("tools/call", { name: "dig", arguments: {} });
  return result?.taskId as string;
}

const tasks = { ownership: "session" } as const;
const scenes: Record<string, (register: (tasks: Tasks, server: McpServer) => void) => Promise<Carried>> = {
  "principal over HTTP": (register) =>
    (carriers.HTTP as NonNullable<typeof carriers.HTTP>)(register, { tasks, http: { auth: { verifyToken } } }),
  connection: (register) =>
    (carriers["a connection that carries everything"] as NonNullable<typeof carriers.HTTP>)(register, { tasks }),
};

it.each(Object.entries(scenes))("another %s's task cannot be told from one that is not there", async (_name, open) => {
  const { register, open: end } = digging();
  const { connect } = await open(register);
  const [ann, bob] = [connect("ann"), connect("bob")];
  const hers = await create(ann);
  const his = await create(bob);
  const stream = await bob.listen({ taskIds: [hers, his, "tsk_invented"] });
  expect(acknowledged(stream)).toEqual({ taskIds: [his] });
  const [foreign, invented] = [await bob.listen({ taskIds: [hers] }), await bob.listen({ taskIds: ["tsk_invented"] })];
  await eventually(() => foreign.hasEnded && invented.hasEnded);
  const shown = foreign.messages.map(({ method, params, result }) => [
    method,
    params?.notifications,
    result?.resultType,
  ]);
  expect(shown).toEqual(
    invented.messages.map(({ method, params, result }) => [method, params?.notifications, result?.resultType]),
  );
  const own = await ann.listen({ taskIds: [hers] });
  end("dug");
  await eventually(() => stream.hasEnded && own.hasEnded);
  expect(new Set(changes(stream).map(({ taskId }) => taskId))).toEqual(new Set([his]));
  expect(changes(own).at(-1)).toMatchObject({ taskId: hers, status: "completed" });
});

it("a connection whose first word is to listen has no tasks yet, and may have", async () => {
  const { register } = digging();
  const { connect } = await (scenes.connection as (typeof scenes)[string])(register);
  const client = connect();
  const first = await client.listen({ taskIds: ["tsk_invented"] });
  expect(acknowledged(first)).toEqual({ taskIds: [] });
  const taskId = await create(client);
  expect(acknowledged(await client.listen({ taskIds: [taskId] }))).toEqual({ taskIds: [taskId] });
});

it("who has no identity where one is needed is refused", async () => {
  const { connect } = await (carriers.HTTP as NonNullable<typeof carriers.HTTP>)(digging().register, { tasks });
  const { messages, status } = await connect().listen({ taskIds: ["tsk_invented"] });
  expect(messages[0]?.error).toMatchObject({ code: -32600, message: expect.stringContaining("identity") });
  expect(status).toBe(200);
});
