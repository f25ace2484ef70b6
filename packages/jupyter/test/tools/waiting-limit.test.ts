/** The waiting limit of a call, on what a real Jupyter Server cannot be made to do at will: to hang. */
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { createJupyterServer, type JupyterServerOptions } from "../../src/index.js";
import { connectTo, textOf } from "./live-server.js";

/** Answers what is asked of the whole server, and hangs with the rest. */
async function hangingJupyter(): Promise<string> {
  const http = createServer(({ url }, response) => {
    if (url?.startsWith("/api/kernelspecs") === true) response.end('{"default":"python3","kernelspecs":{}}');
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    http.closeAllConnections();
    await new Promise((resolve) => http.close(resolve));
  });
  return `http://127.0.0.1:${(http.address() as AddressInfo).port}/`;
}

async function clientOf(options: JupyterServerOptions) {
  const jupyter = await createJupyterServer(options);
  await jupyter.tasks.open();
  onTestFinished(() => jupyter.tasks.close());
  return { jupyter, client: await connectTo(jupyter) };
}

test.each([
  ["execute_code", { code: "1" }],
  ["execute_code", { code: "1", kernel_id: "k" }],
  ["execute_cell", { notebook_path: "a.ipynb", cell_index: 0 }],
])("%s %j is answered at its limit where the kernel does not come, and has run nothing", async (name, args) => {
  const { client } = await clientOf({ url: await hangingJupyter() });
  const answer = await client.run(name, { ...args, timeout: 0.2 });
  expect(answer.isError).toBe(true);
  expect(textOf(answer)).toMatch(
    /kernel ready after 0.2 s, the waiting limit of this call \(timeout\), and nothing has/,
  );
});

test("a call is answered at its limit where Jupyter does not come up, and hears what is waited for, as the next one does", async () => {
  const dir = await mkdtemp(join(tmpdir(), "claimcheck-test-hang-"));
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
  const [python, hangs] = [join(dir, "python"), join(dir, "hangs")];
  await writeFile(hangs, "");
  await writeFile(python, `#!/bin/sh\nwhile [ -e '${hangs}' ]; do sleep 0.1; done\nexit 1\n`);
  await chmod(python, 0o755);
  vi.stubEnv("JUPYTER_PYTHON", python);
  onTestFinished(() => void vi.unstubAllEnvs());
  const { jupyter, client } = await clientOf({ rootDir: dir });
  for (const progressToken of ["first", "second"]) {
    const answer = await client.run("execute_code", { code: "1", timeout: 0.2 }, { _meta: { progressToken } });
    expect(answer.isError).toBe(true);
    expect(textOf(answer)).toMatch(
      /still being installed.*\(looking for a Jupyter Server.*\) after 0.2 s, .*nothing has/,
    );
    const progress = expect.objectContaining({ message: expect.stringContaining("looking for"), progressToken });
    expect(client.heard).toContainEqual(expect.objectContaining({ params: progress }));
  }
  await rm(hangs);
  await jupyter.close();
});
