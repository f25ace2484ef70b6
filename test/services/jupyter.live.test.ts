import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, inject, onTestFinished, test } from "vitest";
import { eventually } from "../fixtures/eventually.js";
import { startExtraJupyter, stopWhenGone } from "./jupyter.js";

const jupyter = inject("jupyter");
const run = promisify(execFile);

test("the shared server answers with its token, and to nobody without it", async () => {
  const url = `${jupyter.url}api/contents`;
  expect((await fetch(url, { headers: { authorization: `token ${jupyter.token}` } })).status).toBe(200);
  expect((await fetch(url)).status).toBe(403);
});

test("the shared server shows the folder that it says it shows", async () => {
  await writeFile(join(jupyter.rootDir, "service-probe.txt"), "here");
  const response = await fetch(`${jupyter.url}api/contents/service-probe.txt`, {
    headers: { authorization: `token ${jupyter.token}` },
  });
  expect(await response.json()).toMatchObject({ content: "here" });
});

test("the Python has the pinned versions", async () => {
  const code = "import jupyter_server, ipykernel; print(jupyter_server.__version__, ipykernel.__version__)";
  const { stdout } = await run(jupyter.python, ["-c", code]);
  expect(stdout.trim()).toBe("2.21.1 7.4.0");
});

test("an extra server has a token, a port and a root of its own, and is gone when stopped", async () => {
  const extra = await startExtraJupyter(jupyter.python, { baseUrl: "/user/ann/" });
  const status = `${extra.service.url}api/status`;
  try {
    expect(extra.service.url).toMatch(/\/user\/ann\/$/);
    expect(extra.service.token).not.toBe(jupyter.token);
    expect((await fetch(status, { headers: { authorization: `token ${extra.service.token}` } })).status).toBe(200);
  } finally {
    await extra.stop();
  }
  await expect(fetch(status)).rejects.toThrow();
});

test("a server ends with the process that it is for, and leaves no folder and no kernel", async () => {
  const extra = await startExtraJupyter(jupyter.python);
  onTestFinished(() => extra.stop());
  const answer = await fetch(`${extra.service.url}api/kernels`, {
    method: "POST",
    headers: { authorization: `token ${extra.service.token}` },
  });
  expect(answer.status).toBe(201);
  const { stdout } = await run("pgrep", ["-P", String(extra.process.pid)]);
  const [kernel = ""] = stdout.split("\n");
  stopWhenGone(extra.dir, extra.process.pid)();
  await eventually(() => !existsSync(extra.dir), 30_000);
  await eventually(() => (extra.process.exitCode ?? extra.process.signalCode) !== null, 30_000);
  await expect(run("kill", ["-0", kernel])).rejects.toThrow();
});
