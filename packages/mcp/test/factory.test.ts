/** A factory that fails: its client is told little, so that its author has to be told the rest without asking. */
import { InMemoryTransport, McpServer } from "@modelcontextprotocol/server";
import { expect, it, onTestFinished } from "vitest";
import { createTasks, serveHttp, serveStdio } from "../src/index.js";
import { HttpClient } from "./http/http-client.js";
import { RawClient } from "./wire/raw-client.js";
import { silent } from "./wire/servers.js";

/** As a copy of the SDK makes them that is not ours. */
const OtherCopy = { McpServer: class McpServer {} };

function scene() {
  const said: [fields: { error?: string }, message: string][] = [];
  const logger = { ...silent, error: (fields: object, message: string) => void said.push([fields, message]) };
  const tasks = createTasks({ logger, ownership: "single-user" });
  onTestFinished(() => tasks.close());
  return { tasks, said };
}

it("over HTTP is logged as an error with its reason, once while that stays the same", async () => {
  const { tasks, said } = scene();
  let make = (): McpServer => {
    const server = new OtherCopy.McpServer() as unknown as McpServer;
    tasks.bind(server);
    return server;
  };
  const serving = await serveHttp(tasks, () => make(), { auth: "none" });
  onTestFinished(() => serving.close());
  const initialize = async () => (await new HttpClient(serving.url).post("initialize", PARAMS, { id: 1 })).status;
  expect([await initialize(), await initialize()]).toEqual([500, 500]);
  expect(said).toMatchObject([
    [{ error: expect.stringContaining("of another copy of it") }, "no server could be made: its factory failed"],
  ]);
  make = () => {
    throw new Error("no database");
  };
  await initialize();
  expect(said.at(-1)).toMatchObject([{ error: "Error: no database" }, expect.any(String)]);
  make = () => new McpServer({ name: "test", version: "0" });
  expect(await initialize()).toBe(200);
  expect(said).toHaveLength(2);
});

it("on one connection is logged as well", async () => {
  const { tasks, said } = scene();
  const [clientSide, transport] = InMemoryTransport.createLinkedPair();
  const factory = async (): Promise<McpServer> => {
    throw new Error("no database");
  };
  const serving = await serveStdio(tasks, factory, { transport });
  onTestFinished(() => serving.close());
  const client = new RawClient(clientSide);
  await clientSide.start();
  expect((await client.request("initialize", PARAMS)).error).toBeDefined();
  expect(said).toEqual([[{ error: "Error: no database" }, "no server could be made: its factory failed"]]);
});

const PARAMS = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "0" } };
