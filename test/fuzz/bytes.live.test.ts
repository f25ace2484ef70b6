/** Whatever bytes come, over real pipes and HTTP: what is answered is well formed, the server lives, and no memory is kept. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { type HttpServing, serveHttp } from "@claimcheck/mcp";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { messagesOf } from "../../packages/mcp/test/http/http-client.js";
import { Client, resultOf } from "../protocol/client.js";
import { type Served, servedTools } from "../protocol/tools.js";
import { HttpWire, localPipes, stdioWire } from "../protocol/wires.js";
import { bytes, SETTINGS } from "./arbitraries.js";

const ANSWERED_WITHIN_MS = 30_000;
/** What a run may leave behind, in the largest part what the engine compiled. */
const MEMORY_LEFT = 24 * 2 ** 20;
const NEWLINE = Uint8Array.of(0x0a);

describe("lines on the stdin of a process", () => {
  it("are answered or skipped, and the next request is served", async () => {
    const wire = stdioWire("2025-11-25");
    onTestFinished(() => wire.close());
    const client = new Client("2025-11-25", wire, {});
    await client.initialize();
    await fc.assert(
      fc.asyncProperty(fc.array(bytes, { maxLength: 4 }), fc.integer({ min: 1, max: 70_000 }), async (lines, piece) => {
        const all = Buffer.concat(lines.flatMap((line) => [line, NEWLINE]));
        for (let from = 0; from < all.length; from += piece) wire.stdin.write(all.subarray(from, from + piece));
        expect((await client.request("ping")).result).toEqual({});
        expect(wire.garbage).toEqual([]);
      }),
      SETTINGS,
    );
    const { taskId } = await client.create("echo", { text: "still there" });
    expect((await client.ended(taskId)).status).toBe("completed");
    expect(wire.process.exitCode).toBeNull();
  });
});

describe("bodies of requests over HTTP", () => {
  const served: Served = servedTools("2025-11-25");
  let serving: HttpServing;
  beforeAll(async () => {
    serving = await serveHttp(served.tasks, served.newServer, { auth: "none" });
  });
  afterAll(async () => {
    await serving.close();
    await served.tasks.close();
  });

  const ways: Record<string, () => Promise<Record<string, string>>> = {
    "2026-07-28": async () => ({ "mcp-protocol-version": "2026-07-28", "mcp-method": "ping" }),
    "2025-11-25, without a session": async () => ({ "mcp-protocol-version": "2025-11-25" }),
    "2025-11-25, in a session": async () => {
      const wire = new HttpWire(serving.url, { "mcp-protocol-version": "2025-11-25" });
      const client = new Client("2025-11-25", wire, {});
      onTestFinished(() => client.close());
      await client.initialize();
      return wire.headers;
    },
  };

  it.each(Object.entries(ways))("of %s are answered, and the next request is served", async (_name, headersOf) => {
    const headers = {
      ...(await headersOf()),
      accept: "application/json, text/event-stream",
      "content-type": "application/json",
    };
    const client = new Client("2025-11-25", new HttpWire(serving.url, { "mcp-protocol-version": "2025-11-25" }), {});
    await fc.assert(
      fc.asyncProperty(bytes, async (body) => {
        const signal = AbortSignal.timeout(ANSWERED_WITHIN_MS);
        const response = await fetch(serving.url, { method: "POST", headers, body: body, signal });
        expect([response.status, response.status < 500]).toEqual([response.status, true]);
        for await (const came of messagesOf(response)) {
          for (const message of Array.isArray(came) ? came : [came]) {
            expect(message.jsonrpc).toBe("2.0");
            if (message.error !== undefined)
              expect(message.error).toMatchObject({ code: expect.any(Number), message: expect.any(String) });
            else expect(message.result ?? message.params).toBeTypeOf("object");
          }
        }
        expect((await client.request("ping")).result).toEqual({});
      }),
      SETTINGS,
    );
    expect(resultOf(await client.call("look", { gate: "none" })).structuredContent).toEqual({ notes: [] });
  });

  it("that are large leave no memory behind", async () => {
    const headers = { accept: "application/json, text/event-stream", "content-type": "application/json" };
    const send = async (): Promise<void> => {
      for (let n = 0; n < 10; n += 1) {
        const id = `${n}${"é".repeat(100_000)}`;
        const params = { name: "echo", arguments: { text: "x".repeat(1_000_000) } };
        const body = JSON.stringify({ jsonrpc: "2.0", id, method: n % 2 === 0 ? "tools/call" : "no/such", params });
        await (await fetch(serving.url, { method: "POST", headers, body })).text();
      }
    };
    expect(await memoryLeftBy(send)).toBeLessThan(MEMORY_LEFT);
  });
});

it("lines that are large, or are no message, leave no memory behind", async () => {
  const { tasks, newServer } = servedTools("2025-11-25");
  const wire = await localPipes({ tasks, newServer });
  onTestFinished(async () => {
    await wire.close();
    await tasks.close();
  });
  const client = new Client("2025-11-25", wire, {});
  await client.initialize();
  const send = async (): Promise<void> => {
    for (let n = 0; n < 10; n += 1) {
      wire.stdin.write(`${"[".repeat(1_000_000)}\n{"jsonrpc":"2.0","method":"${"m".repeat(1_000_000)}"}\n`);
      expect((await client.call("echo", { text: "x".repeat(1_000_000) })).error).toBeUndefined();
    }
  };
  expect(await memoryLeftBy(send)).toBeLessThan(MEMORY_LEFT);
});

/** What the second run leaves behind, bytes: the first may fill what is filled once. */
async function memoryLeftBy(run: () => Promise<void>): Promise<number> {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const settled = async (): Promise<number> => {
    for (let turn = 0; turn < 3; turn += 1) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      collect();
    }
    const { heapUsed, external } = process.memoryUsage();
    return heapUsed + external;
  };
  await run();
  const before = await settled();
  await run();
  return (await settled()) - before;
}
