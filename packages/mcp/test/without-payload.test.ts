import { InMemoryTransport, McpServer } from "@modelcontextprotocol/server";
import { expect, it } from "vitest";
import { errorReporter, withoutPayload } from "../src/without-payload.js";

it("what the SDK says of messages that it cannot place does not quote them", async () => {
  const [clientSide, serverSide] = InMemoryTransport.createLinkedPair();
  const server = new McpServer({ name: "test", version: "0" });
  const said: Error[] = [];
  server.server.onerror = (error) => void said.push(error);
  await server.connect(serverSide);
  const progress = { progressToken: 9, progress: 1, message: "planted" };
  await clientSide.send({ jsonrpc: "2.0", id: 9, result: { x: "planted" } });
  await clientSide.send({ jsonrpc: "2.0", method: "notifications/progress", params: progress });
  await clientSide.send({ planted: true } as never);
  await new Promise((resolve) => setImmediate(resolve));
  expect(said).toHaveLength(3);
  for (const error of said) expect(error.message).toContain("planted");
  for (const error of said) expect(`${withoutPayload(error).stack}`).not.toContain("planted");
  await server.close();
});

it("what else it says is left as it is", () => {
  const error = new Error("EPIPE: the pipe is broken");
  expect(withoutPayload(error)).toBe(error);
});

it("what nobody asks to be told of is in the log", () => {
  const logged: object[] = [];
  const nothing = (): void => {};
  const logger = { debug: nothing, info: nothing, warn: (fields: object) => void logged.push(fields), error: nothing };
  const told: Error[] = [];
  errorReporter(logger, (error) => void told.push(error))(new Error("one"));
  errorReporter(logger, undefined)(new Error("two"));
  expect(told.map(({ message }) => message)).toEqual(["one"]);
  expect(logged).toEqual([{ error: expect.stringContaining("two") }]);
});
