/** The tools on this process's stdin and stdout; the argument is the contract. */
import { type Contract, serveStdio } from "@claimcheck/mcp";
import { servedTools } from "./tools.js";

const { tasks, newServer } = servedTools(process.argv[2] as Contract);
const serving = await serveStdio(tasks, newServer, { onerror: (error) => process.stderr.write(`${error.message}\n`) });
await serving.closed;
await tasks.close();
