import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, inject, onTestFinished, test, vi } from "vitest";
import { JupyterRest, serverAddress } from "../../src/kernel/index.js";
import { JUPYTER_REQUIREMENTS, type PrivateServerOptions, startPrivateServer } from "../../src/server/index.js";
import { isAlive } from "../../src/server/lock.js";
import { connect, run } from "../kernel/live-kernel.js";

const { python } = inject("jupyter");
let dir: string;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "claimcheck-private-"));
});

afterEach(async () => {
  await rm(dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
});

function options(more: PrivateServerOptions = {}): PrivateServerOptions {
  return { rootDir: dir, env: { ...process.env, JUPYTER_PYTHON: python }, ...more };
}

function restOf(server: { url: string; token: string }): JupyterRest {
  return new JupyterRest(serverAddress(server.url, server.token));
}

async function mode(path: string): Promise<number> {
  return (await stat(path)).mode & 0o777;
}

describe("a private server", () => {
  test("runs cells in its root, without a limit on output, and is gone with its folder after close", async () => {
    const server = await startPrivateServer(options());
    const rest = restOf(server);
    const kernel = await rest.startKernel();
    const connection = await connect(rest, kernel.id);
    expect((await run(connection, "import os; print(os.getcwd())")).stdout).toBe(`${dir}\n`);
    const burst = await run(connection, "import sys\nfor i in range(4000): print(i); sys.stdout.flush()");
    expect(burst.end.incomplete.rateLimited).toBe(false);
    expect(burst.stdout.split("\n")).toHaveLength(4001);
    const kernelPid = Number((await run(connection, "print(os.getpid())")).stdout);
    await Promise.all([server.close(), server.close()]);
    expect(isAlive(server.pid)).toBe(false);
    expect(isAlive(kernelPid)).toBe(false);
    expect(existsSync(dirname(server.logFile))).toBe(false);
  });

  test("listens on loopback only, keeps its files to its owner, and shows its token to nobody", async () => {
    const server = await startPrivateServer(options());
    onTestFinished(() => server.close());
    expect(server.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/$/);
    expect(await mode(dirname(server.logFile))).toBe(0o700);
    expect(await readFile(server.logFile, "utf8")).not.toContain(server.token);
    expect(await readFile(`/proc/${server.pid}/cmdline`, "utf8")).not.toContain(server.token);
    const stranger = new JupyterRest(serverAddress(server.url));
    await expect(stranger.listKernels()).rejects.toMatchObject({ code: "unauthorized" });
  });

  test("that outlives us is found again, with its kernels, by whoever asks for the same folder", async () => {
    const lasting = options({ outlive: true, stateDir: join(dir, "state") });
    const first = await startPrivateServer(lasting);
    const kernel = await restOf(first).startKernel();
    await first.close();
    expect(await mode(join(dir, "state", "server.json"))).toBe(0o600);
    const second = await startPrivateServer(lasting);
    try {
      expect(second).toMatchObject({ pid: first.pid, url: first.url, reused: true });
      expect((await restOf(second).getKernel(kernel.id)).id).toBe(kernel.id);
    } finally {
      await second.shutdown();
    }
    expect(isAlive(first.pid)).toBe(false);
    expect(existsSync(join(dir, "state"))).toBe(false);
  });

  test("is started once for two who ask for the same folder at the same time", async () => {
    const lasting = options({ outlive: true, stateDir: join(dir, "state") });
    const [one, two] = await Promise.all([startPrivateServer(lasting), startPrivateServer(lasting)]);
    onTestFinished(() => one.shutdown());
    expect(one.pid).toBe(two.pid);
    expect([one.reused, two.reused].sort()).toEqual([false, true]);
  });

  test("whose state is stale is replaced by a new one", async () => {
    const lasting = options({ outlive: true, stateDir: join(dir, "state") });
    const first = await startPrivateServer(lasting);
    process.kill(first.pid, "SIGKILL");
    const second = await startPrivateServer(lasting);
    onTestFinished(() => second.shutdown());
    expect(second.reused).toBe(false);
    expect(second.pid).not.toBe(first.pid);
  });

  test("ends with a process that exits without closing it", async () => {
    const script = join(dir, "exit.mjs");
    // Node runs no TypeScript: this needs the build.
    const entry = new URL("../../dist/server/private-server.js", import.meta.url).pathname;
    await writeFile(
      script,
      `import { startPrivateServer } from ${JSON.stringify(entry)};\n` +
        `const server = await startPrivateServer({ rootDir: ${JSON.stringify(dir)} });\n` +
        "console.log(JSON.stringify({ pid: server.pid, logFile: server.logFile }));\nprocess.exit(0);",
    );
    const { pid, logFile } = JSON.parse(await outputOf(script)) as { pid: number; logFile: string };
    await gone(pid, 60_000);
    expect(existsSync(dirname(logFile))).toBe(false);
  });
});

// The server looks for activity once a minute.
test("an orphan ends by itself", { timeout: 240_000 }, async () => {
  const server = await startPrivateServer(
    options({ outlive: true, stateDir: join(dir, "state"), idleShutdownSeconds: 1, cullKernelsAfterSeconds: 1 }),
  );
  await restOf(server).startKernel();
  await server.close();
  await gone(server.pid, 200_000);
});

describe("starting fails, and says why and what helps, for", () => {
  test("a JUPYTER_PYTHON that is none", async () => {
    await expect(startPrivateServer({ env: { JUPYTER_PYTHON: "/no/python" } })).rejects.toMatchObject({
      code: "no_python",
      message: expect.stringMatching(/\/no\/python, and there is no such file.*unset JUPYTER_PYTHON/),
    });
  });

  test("a server that ends at once, with the end of its log and nothing left behind", async () => {
    // Its own: other tests start servers at the same time.
    vi.stubEnv("TMPDIR", dir);
    onTestFinished(() => void vi.unstubAllEnvs());
    await expect(startPrivateServer(options({ idleShutdownSeconds: Number.NaN }))).rejects.toMatchObject({
      code: "start_failed",
      message: expect.stringMatching(/ended with exit code 1.*shutdown_no_activity_timeout/s),
    });
    expect((await readdir(dir)).filter((name) => name.startsWith("claimcheck-jupyter-"))).toEqual([]);
  });
});

test("where no Jupyter Server is found, the private environment's is started", async () => {
  const lines: string[] = [];
  // Installed by the set-up of the live tests, in the very way in which a private one is.
  const environmentDir = dirname(dirname(python));
  const nowhere = { PATH: "/nowhere" };
  const server = await startPrivateServer({
    rootDir: dir,
    env: nowhere,
    environmentDir,
    onProgress: (line) => void lines.push(line),
  });
  onTestFinished(() => server.close());
  expect(lines.at(-1)).toContain(python);
});

test("the tests run against the versions that a private installation has", async () => {
  const pinned = await readFile(new URL("../../../../test/services/jupyter-requirements.txt", import.meta.url), "utf8");
  expect(pinned.trim().split("\n")).toEqual(JUPYTER_REQUIREMENTS);
});

async function outputOf(script: string): Promise<string> {
  const child = spawn(process.execPath, [script], {
    env: { ...process.env, JUPYTER_PYTHON: python },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  await new Promise((resolve) => child.once("close", resolve));
  return output.trim();
}

async function gone(pid: number, withinMs: number): Promise<void> {
  await expect.poll(() => isAlive(pid), { timeout: withinMs, interval: 200 }).toBe(false);
}
