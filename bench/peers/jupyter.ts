/** A real Jupyter Server and one kernel on it, which both sides of a comparison use. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createJupyterServer } from "@claimcheck/jupyter";
import { InMemoryTransport } from "@modelcontextprotocol/server";
import { ensureTestPython, startExtraJupyter } from "../../test/services/jupyter.js";
import { connectWire, type WireClient } from "./in-memory-wire.js";

export interface JupyterBench {
  url: string;
  token: string;
  python: string;
  /** Where the kernel's connection file lies, for a client that speaks ZeroMQ. */
  runtimeDir: string;
  kernelId: string;
  /** An MCP client of our server, on the 2025-11-25 wire. */
  client: WireClient;
  /** Calls the Jupyter Server's REST interface. */
  rest(method: string, path: string): Promise<Response>;
  close(): Promise<void>;
}

export async function startJupyterBench(): Promise<JupyterBench> {
  const runtimeDir = await mkdtemp(join(tmpdir(), "claimcheck-bench-runtime-"));
  const python = await ensureTestPython();
  const jupyter = await startExtraJupyter(python, { env: { JUPYTER_RUNTIME_DIR: runtimeDir } });
  const { url, token } = jupyter.service;
  const rest: JupyterBench["rest"] = (method, path) =>
    fetch(new URL(path, url), { method, headers: { authorization: `token ${token}` } });
  const { id: kernelId } = (await (await rest("POST", "api/kernels")).json()) as { id: string };
  const served = await createJupyterServer({ url, token });
  await served.tasks.open();
  const server = await served.factory({ era: "legacy" } as never);
  const [near, far] = InMemoryTransport.createLinkedPair();
  await server.connect(far);
  const client = await connectWire(near);
  return {
    url,
    token,
    python,
    runtimeDir,
    kernelId,
    client,
    rest,
    close: async () => {
      await client.close();
      await served.close();
      await jupyter.stop();
      await rm(runtimeDir, { recursive: true, force: true });
    },
  };
}
