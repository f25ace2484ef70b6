/** Starts a command by a direct call and exits while it runs. */
import { createTasks } from "@claimcheck/mcp";
import { InMemoryTransport, McpServer } from "@modelcontextprotocol/server";

const [seconds] = process.argv.slice(2);
const tasks = createTasks();
await tasks.open();
const server = new McpServer({ name: "exits", version: "0" });
tasks.registerTool(server, "run", { execution: { runner: "subprocess" } }, () => ({
  argv: ["sh", "-c", `echo up; sleep ${seconds}`],
}));
const [here, there] = InMemoryTransport.createLinkedPair();
await server.connect(there);
here.onmessage = (message) => {
  if (message.id === 0) {
    void here.send({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: "run", arguments: {}, _meta: { progressToken: 1 } },
    });
  }
  if (message.method === "notifications/progress") process.exit(7);
};
await here.start();
const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "c", version: "0" } };
await here.send({ jsonrpc: "2.0", id: 0, method: "initialize", params });
