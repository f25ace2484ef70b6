/** Lines on stdin that are no message: each is answered, and what comes after is read as ever. */
import { PassThrough } from "node:stream";
import { McpServer } from "@modelcontextprotocol/server";
import { expect, it, onTestFinished } from "vitest";
import { createTasks, serveStdio } from "../../src/index.js";
import { MessageLines } from "../../src/stdio/message-lines.js";
import type { Rejection } from "../../src/wire/malformed.js";
import { OPTIONAL, silent } from "../wire/servers.js";

const PING = '{"jsonrpc":"2.0","id":"after","method":"ping"}\n';

/** What passes, and what is answered, of `chunks`. */
async function read(chunks: (string | Buffer)[], maxLineBytes?: number) {
  const answered: Rejection[] = [];
  const reject = async (rejection: Rejection) => void answered.push(rejection);
  const lines = new MessageLines({ reject, ...(maxLineBytes !== undefined && { maxLineBytes }) });
  const passed: string[] = [];
  lines.on("data", (line: Buffer) => passed.push(line.toString("utf8")));
  for (const chunk of chunks) lines.write(chunk);
  lines.end();
  await new Promise((resolve) => lines.once("end", resolve));
  return { passed, answered };
}

it.each([
  ["not JSON", "Debugger attached.", { code: -32700 }],
  ["half an object", '{"jsonrpc":', { code: -32700 }],
  ["a number", "42", { code: -32600 }],
  ["null", "null", { code: -32600 }],
  ["a batch", "[]", { code: -32600 }],
  ["another version", '{"jsonrpc":"1.0","id":1,"method":"ping"}', { code: -32600, id: 1 }],
  ["an id that is none", '{"jsonrpc":"2.0","id":null,"method":"ping"}', { code: -32600 }],
  ["params as a list", '{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', { code: -32602, id: 1 }],
  ["params null", '{"jsonrpc":"2.0","id":"a","method":"ping","params":null}', { code: -32602, id: "a" }],
  ["a number for params", '{"jsonrpc":"2.0","id":0,"method":"ping","params":7}', { code: -32602, id: 0 }],
  [
    "a progress token that is none",
    '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"progressToken":{}}}}',
    { code: -32602, id: 1 },
  ],
  ["a response that is none", '{"jsonrpc":"2.0","id":1,"result":7}', { code: -32600 }],
])("%s is answered, under its id where it has one, and the next line passes", async (_what, line, { code, ...id }) => {
  const { passed, answered } = await read([`${line}\n${PING}`]);
  expect(answered).toEqual([{ jsonrpc: "2.0", ...id, error: { code, message: expect.any(String) } }]);
  expect(passed).toEqual([PING]);
});

it.each(["null", "[]", "7", '{"_meta":null}', '{"_meta":{"progressToken":{}}}'])(
  "a notification whose params are %s is not answered",
  async (params) => {
    const line = `{"jsonrpc":"2.0","method":"notifications/progress","params":${params}}\n`;
    expect((await read([line, PING])).answered).toEqual([]);
  },
);

it.each(["[]", "7", "null", '{"taskId":7}'])("related-task metadata that is %s is left out", async (related) => {
  const meta = (members: string) => `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{${members}}}}`;
  const line = meta(`"a":1,"io.modelcontextprotocol/related-task":${related}`);
  const { passed, answered } = await read([`${line}\n${PING}`]);
  expect(answered).toEqual([]);
  expect(passed).toEqual([`${meta('"a":1')}\n`, PING]);
});

it("members that JSON-RPC does not know are left out", async () => {
  const { passed, answered } = await read([`${PING.replace("{", '{"__proto__":{},"stray":1,')}${PING}`]);
  expect(answered).toEqual([]);
  expect(passed).toEqual([PING, PING]);
});

it("a number beyond JSON's stays what it is where members are left out", async () => {
  const call =
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{"n":[1e400,-1e400,"1e400",null]}}}\n';
  const { passed, answered } = await read([call.replace("{", '{"stray":1,')]);
  expect(answered).toEqual([]);
  expect(passed).toEqual([call]);
});

it("params nested too deeply to be written again are answered, and the next line passes", async () => {
  const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
  const line = `{"stray":1,"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"deep":${deep}}}\n`;
  const { passed, answered } = await read([line, PING]);
  expect(answered).toMatchObject([{ id: 1, error: { code: -32602, message: expect.stringContaining("too deeply") } }]);
  expect(passed).toEqual([PING]);
});

it("blank lines say nothing, and line ends of both kinds are taken", async () => {
  const { passed, answered } = await read(["\n\r\n  \n", PING.replace("\n", "\r\n")]);
  expect(answered).toEqual([]);
  expect(passed.map((line) => line.trim())).toEqual([PING.trim()]);
});

it("a line that comes byte by byte passes whole", async () => {
  const line = `{"jsonrpc":"2.0","id":"é€😀\u2028","method":"ping"}\n`;
  const { passed } = await read([...Buffer.from(line)].map((byte) => Buffer.of(byte)));
  expect(passed).toEqual([line]);
});

it("a line that is too long is answered and skipped to its end; the next one passes", async () => {
  const long = `{"jsonrpc":"2.0","id":1,"method":"${"x".repeat(500)}"}`;
  const { passed, answered } = await read([long.slice(0, 300), long.slice(300), `\n${PING}`], 200);
  expect(answered).toMatchObject([{ error: { code: -32600, message: expect.stringContaining("200 bytes") } }]);
  expect(passed).toEqual([PING]);
});

it("64 MB without an end are read in time that grows with their number, and kept by nobody", async () => {
  const chunk = Buffer.alloc(4096, "x");
  const startedAt = performance.now();
  const { passed } = await read([...new Array(16_384).fill(chunk), `\n${PING}`]);
  expect(passed).toEqual([PING]);
  expect(performance.now() - startedAt).toBeLessThan(10_000);
});

it("over a served connection the answers go out between the others", async () => {
  const tasks = createTasks({ logger: silent });
  onTestFinished(() => tasks.close());
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  const told: string[] = [];
  const serving = await serveStdio(
    tasks,
    () => {
      const server = new McpServer({ name: "test", version: "0" });
      tasks.registerTool(server, "dig", OPTIONAL, () => "dug");
      return server;
    },
    { stdin, stdout, onerror: ({ message }) => void told.push(message) },
  );
  const clientInfo = { name: "raw", version: "0" };
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
  stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params })}\n`);
  stdin.write('{"jsonrpc":"2.0","id":2,"method":"tools/call","params":[]}\nnot json\n');
  stdin.write(PING);
  let text = "";
  for await (const chunk of stdout) {
    text += chunk;
    if (text.includes('"after"')) break;
  }
  const messages = text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { id?: unknown; error?: { code: number } });
  expect(messages.find(({ id }) => id === 2)?.error?.code).toBe(-32602);
  expect(messages.find(({ id }) => id === undefined)?.error?.code).toBe(-32700);
  expect(told).toHaveLength(2);
  stdin.end();
  await serving.closed;
});
