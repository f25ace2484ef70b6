import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, inject, test } from "vitest";
import { startExtraJupyter } from "./jupyter.js";

const jupyter = inject("jupyter");

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
  const { stdout } = await promisify(execFile)(jupyter.python, ["-c", code]);
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
