/** Exchanges that break off, and bodies that come in pieces. */
import { connect, type Socket } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { eventually } from "../../../../test/fixtures/eventually.js";
import { gate } from "../wire/raw-client.js";
import { OPTIONAL } from "../wire/servers.js";
import { ACCEPT, HttpClient, serving } from "./http-client.js";

const HEAD = [
  "POST /mcp HTTP/1.1",
  "Host: localhost",
  ...Object.entries(ACCEPT).map(([name, value]) => `${name}: ${value}`),
];

/** A connection to write a request on by hand. */
async function socketTo(port: number): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {});
  onTestFinished(() => void socket.destroy());
  await new Promise((resolve) => socket.once("connect", resolve));
  return socket;
}

function request(body: Buffer, ...more: string[]): Buffer {
  return Buffer.concat([Buffer.from([...HEAD, `Content-Length: ${body.length}`, ...more, "", ""].join("\r\n")), body]);
}

function call(name: string, more: object = {}): Buffer {
  return Buffer.from(
    JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: {}, ...more } }),
  );
}

describe("a client that goes", () => {
  it("half-way through a body, or while it is answered, leaves the server and the other sessions as they were", async () => {
    const unhandled: unknown[] = [];
    const note = (reason: unknown): void => void unhandled.push(reason);
    process.on("unhandledRejection", note);
    onTestFinished(() => void process.off("unhandledRejection", note));
    const started = gate();
    const { serving: served } = await serving((tasks, server) => {
      tasks.registerTool(server, "big", OPTIONAL, () => "x".repeat(20_000_000));
      tasks.registerTool(server, "late", OPTIONAL, async (_args, ctx) => {
        started.open();
        await ctx.cancelToken.wait();
        await new Promise((resolve) => setTimeout(resolve, 5));
        ctx.sendProgress(1);
        throw new Error("Nobody hears this.");
      });
    });
    const other = new HttpClient(served.url);
    await other.initialize();

    const half = await socketTo(served.port);
    const whole = request(call("big"));
    half.write(whole.subarray(0, whole.length - 10));
    await other.request("ping");
    half.resetAndDestroy();

    const answered = await socketTo(served.port);
    answered.write(request(call("big")));
    await new Promise((resolve) => answered.once("data", resolve));
    answered.resetAndDestroy();

    const gone = await socketTo(served.port);
    gone.write(request(call("late", { _meta: { progressToken: 1 } })));
    await started.promise;
    gone.resetAndDestroy();

    await new Promise((resolve) => setTimeout(resolve, 50));
    expect((await other.request("ping")).result).toEqual({});
    expect((await other.request("tools/list")).result?.tools).toHaveLength(2);
    expect(unhandled).toEqual([]);
  });
});

describe("a body that comes byte by byte", () => {
  it("arrives with its characters whole, and is the same call as when it comes at once", async () => {
    let runs = 0;
    const { serving: served } = await serving(
      (own, server) =>
        own.registerTool(server, "dig", OPTIONAL, () => {
          runs += 1;
        }),
      { auth: "none" },
      { ownership: "single-user" },
    );
    const text = "é€😀\u2028";
    const params = { task: {}, _meta: { "io.datalayer/idempotency-key": text } };
    const { taskId } = await new HttpClient(served.url).callTask("dig", { _meta: params._meta });
    const socket = await socketTo(served.port);
    let said = "";
    socket.on("data", (chunk) => {
      said += chunk;
    });
    const whole = request(call("dig", params), "Connection: close");
    const body = whole.length - call("dig", params).length;
    socket.write(whole.subarray(0, body));
    for (const byte of whole.subarray(body)) {
      socket.write(Buffer.of(byte));
      await new Promise((resolve) => setImmediate(resolve));
    }
    await eventually(() => said.includes(taskId));
    expect(runs).toBe(1);
  });
});
