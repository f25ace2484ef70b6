/**
 * What FastMCP and the C# SDK test of their tasks, as far as it is said of servers: each with the test that holds it here,
 * and the few that had none.
 */
import { describe, expect, it } from "vitest";
import { eventually } from "../../../test/fixtures/eventually.js";
import { type Held, testsHold } from "./held.js";
import { modernScene } from "./wire/modern-client.js";
import { OPTIONAL, scene, untilStopped } from "./wire/servers.js";

const HELD: readonly Held[] = [
  ["the extension is advertised, empty", "wire/capabilities", "the official extension's value is exactly {}"],
  [
    "required without the extension is -32021",
    "dialects/extension-2026-07-28",
    "undeclared, a tool that requires a task is refused, naming the capability",
  ],
  [
    "opting in is a matter of each request",
    "wire/extension-2026",
    "declaring is a matter of each request: 200 calls in turn, with and without",
  ],
  [
    "an opt-in on an old connection counts as absent",
    "wire/forged-metadata",
    "an extension of 2026 that is declared in a request of 2025 counts as absent",
  ],
  [
    "listings show task support",
    "wire/capabilities",
    "tools/list shows whether a tool runs as a task, and nothing of how it is run",
  ],
  [
    "arguments are coerced as on the direct path",
    "wire/schemas",
    "arguments are coerced, completed and transformed, once for each call",
  ],
  [
    "invalid arguments are no task",
    "wire/creation",
    "invalid arguments are refused in the direct call's words, create no task and burn no key",
  ],
  ["a tool's error is a completed result", "wire/result", "a result that says isError is a completed task's"],
  [
    "other errors are masked on both paths",
    "wire/result",
    "masked, no text of an unexpected error reaches a client on either path",
  ],
  [
    "a protocol error fails with its code",
    "wire/result",
    "a protocol error is raised with its code, message and data, by the direct call and by tasks/result",
  ],
  ["every return type is the same on both paths", "wire/both-paths", "%s is the same on both"],
  ["cancelling stops the work", "wire/cancel", "tasks/cancel interrupts the work, then stops waiting for it"],
  [
    "a task that waits for input is cancelled, and not resumed",
    "questions/task-questions",
    "is its task's cancellation: nothing is asked any more, and a late answer is acknowledged and ignored",
  ],
  [
    "several rounds have different keys",
    "questions/task-questions",
    "two questions of one wording in turn have different keys, and a retransmitted answer leaves the second open",
  ],
  [
    "identical answers at once count once",
    "questions/task-questions",
    "of twenty answers at once the tool hears the first, and runs on once",
  ],
  [
    "a partial answer leaves exactly the other",
    "questions/direct-questions",
    "questions asked together go out together; a partial answer leaves the other",
  ],
  [
    "disjoint answers at once all land",
    "questions/task-questions",
    "three partial answers at once over two connections are all kept",
  ],
  [
    "a parked task does not delay shutdown",
    "http/questions",
    "a person who does not answer holds nothing up: the server closes at once",
  ],
  [
    "one client sees its tasks, another does not",
    "wire/ownership",
    "with auth, the same principal can access its tasks across sessions, while a different one cannot",
  ],
  [
    "progress becomes the status message",
    "wire/side-channel",
    "what it says reaches whoever only polls: the message, and the numbers",
  ],
  ["a late completion overwrites no cancellation", "../../core/test/runtime-cancel-races", "races with slow"],
  [
    "an unauthorised call creates nothing",
    "auth/scopes",
    "is refused with 403 and told which scopes it needs; the session goes on",
  ],
  [
    "cancelling what has ended acknowledges and changes nothing",
    "wire/extension-2026",
    "cancelling a finished task, twice, is the same empty acknowledgement",
  ],
];

testsHold(HELD);

describe("creation", () => {
  it("ids are the server's own, distinct, and too long to be guessed", async () => {
    const { connect } = await modernScene((tasks, server) => tasks.registerTool(server, "dig", OPTIONAL, () => "dug"));
    const client = connect();
    const ids = new Set<string>();
    for (let n = 0; n < 50; n += 1) ids.add(await client.create("dig", { taskId: "tsk_mine" }));
    expect(ids.size).toBe(50);
    for (const id of ids) expect(id.length).toBeGreaterThanOrEqual(20);
  });

  it("get says the ttl and poll interval that the claim check said, and the ttl still when it has ended", async () => {
    const config = { ...OPTIONAL, ttl: 60_000, pollInterval: 250 };
    const { tasks, connect } = await modernScene((bound, server) =>
      bound.registerTool(server, "dig", config, (_args, ctx) => untilStopped(ctx)),
    );
    const client = connect();
    const { result } = await client.call("dig");
    const said = { ttlMs: 60_000, pollIntervalMs: 250 };
    expect(result).toMatchObject(said);
    const taskId = result?.taskId as string;
    expect(await client.get(taskId)).toMatchObject(said);
    await tasks.runtime.cancel('["single-user"]', taskId);
    const ended = await client.get(taskId);
    expect(ended.ttlMs).toBeGreaterThanOrEqual(60_000);
    expect(ended).not.toHaveProperty("pollIntervalMs");
  });
});

describe("what a handler returns", () => {
  class Mine {
    readonly feet = 3;
    get twice(): number {
      return this.feet * 2;
    }
    toJSON(): object {
      return { dug: this.feet };
    }
  }

  it.each([
    ["a date", () => new Date(0)],
    ["a URL", () => new URL("https://example.com/a")],
    ["bytes", () => Buffer.from("dug")],
    ["a map", () => new Map([["a", 1]])],
    ["a set", () => new Set([1])],
    ["a big integer", () => 10n ** 20n],
    ["not a number", () => Number.NaN],
    ["an instance of a class of its own", () => new Mine()],
    ["members that JSON leaves out", () => ({ a: undefined, b: () => {}, c: [undefined] })],
    ["an object without a prototype", () => Object.assign(Object.create(null), { a: 1 })],
    ["a big integer within an object", () => ({ a: 1n })],
    [
      "a ring",
      () => {
        const ring: Record<string, unknown> = {};
        ring.ring = ring;
        return ring;
      },
    ],
    ["a symbol", () => Symbol("dug")],
  ])("%s is the same on the direct path and as a task", async (_what, handler) => {
    const { connect } = scene((tasks, server) => tasks.registerTool(server, "dig", OPTIONAL, handler as () => string));
    const client = await connect();
    const direct = (await client.call("dig")).result;
    const { taskId } = await client.callTask("dig");
    const { _meta, ...asTask } = (await client.request("tasks/result", { taskId })).result ?? {};
    expect(asTask).toEqual(direct);
  });
});

it("cancelling one of two leaves the other alone", async () => {
  const { tasks, connect } = await modernScene((bound, server) =>
    bound.registerTool(server, "dig", OPTIONAL, (_args, ctx) => untilStopped(ctx)),
  );
  const client = connect();
  const [one, two] = [await client.create("dig"), await client.create("dig")];
  await client.request("tasks/cancel", { taskId: one });
  expect((await client.get(one)).status).toBe("cancelled");
  expect((await client.get(two)).status).toBe("working");
  await eventually(() => tasks.runtime.gauges.running === 1);
});

it("two servers in one process on memory know nothing of each other's tasks, and each runs its own once", async () => {
  let runs = 0;
  const one = await modernScene((tasks, server) => tasks.registerTool(server, "dig", OPTIONAL, () => `${++runs}`));
  const two = await modernScene((tasks, server) => tasks.registerTool(server, "dig", OPTIONAL, () => `${++runs}`));
  const [client, other] = [one.connect(), two.connect()];
  const taskId = await client.create("dig");
  expect((await other.request("tasks/get", { taskId })).error).toMatchObject({ code: -32602 });
  await two.tasks.close();
  await eventually(async () => (await client.get(taskId)).status === "completed");
  expect(await client.get(taskId)).toMatchObject({ result: { content: [{ text: "1" }] } });
});
