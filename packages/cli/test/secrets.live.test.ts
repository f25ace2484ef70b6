/** What the command writes to stderr and stdout, at its most verbose, never has a password or a token in it. */
import { expect, inject, onTestFinished, test } from "vitest";
import { startRedis } from "../../../test/services/redis.js";
import { Command, temporaryFolder } from "./command.js";

const jupyter = inject("jupyter");
const onJupyter = { JUPYTER_URL: jupyter.url, JUPYTER_TOKEN: jupyter.token };
const VERBOSE = ["jupyter", "--log-level", "debug"];

async function redisWithPassword(password: string) {
  const server = await startRedis(["--requirepass", password]);
  onTestFinished(() => server.remove());
  return { server, url: server.url.replace("//", `//:${encodeURIComponent(password)}@`) };
}

test("starting, losing the store, getting it back, and ending", async () => {
  const { server, url } = await redisWithPassword("s3cret/pass");
  const command = new Command([...VERBOSE, "--store", url], onJupyter);
  await command.initialize();
  await command.request("tasks/list");
  await server.stop("SIGKILL");
  const { error } = await command.request("tasks/list");
  expect(error).toBeDefined();
  await command.until(() => command.stderr.includes("cannot be reached"));
  await server.start();
  await command.until(() => command.stderr.includes("can be reached again"));
  await server.stop("SIGKILL");
  command.process.stdin.end();
  await command.ended;
  expect(command.stdout + command.stderr).not.toMatch(/s3cret|%2Fpass/);
  expect(command.stdout + command.stderr).not.toContain(jupyter.token);
});

test.each([
  ["redis://:s3cret@127.0.0.1:1"],
  ["postgres://ann:s3cret@127.0.0.1:1/tasks?sslmode=require"],
  ["redis://:s3cret@127.0.0.1:port"],
  ["mysql://ann:s3cret/s3cret@127.0.0.1/tasks"],
])("a store that cannot be had: %s", async (store) => {
  for (const [args, env] of [
    [[...VERBOSE, "--store", store], onJupyter],
    [VERBOSE, { ...onJupyter, JUPYTER_MCP_TASK_STORE_CLASS: store }],
  ] as const) {
    const command = new Command(args, env, temporaryFolder());
    expect(await command.ended).toBe(3);
    expect(command.stdout + command.stderr).not.toContain("s3cret");
  }
});

test("a wrong password", async () => {
  const { url } = await redisWithPassword("right");
  const command = new Command([...VERBOSE, "--store", url.replace("right", "s3cret")], onJupyter);
  expect(await command.ended).toBe(3);
  expect(command.stderr).toContain("WRONGPASS");
  expect(command.stderr).not.toContain("s3cret");
});

test.each([
  [["jupyter", "--stroe=redis://:s3cret@db"]],
  [["jupyter", "--mcp-tokn=s3cret"]],
  [["jupyter", "--mcp-token", "s3crét", "--http"]],
  [["jupyter", "--jupyter-url", "http://ann:s3cret@127.0.0.1:1", "--store", "memory"]],
  [["jupyter", "--jupyter-url", "gopher://127.0.0.1/?token=s3cret", "--store", "memory"]],
])("a command line that cannot be meant: %j", async (args) => {
  const command = new Command(args, {}, temporaryFolder());
  expect([2, 3]).toContain(await command.ended);
  expect(command.stderr).toContain("claimcheck");
  expect(command.stdout + command.stderr).not.toMatch(/s3cr[eé]t/);
});

test("tokens of clients and of the Jupyter Server, over HTTP", async () => {
  const tokens = ["--mcp-token", "s3cret-mcp", "--jupyter-url", `${jupyter.url}?token=s3cret-jupyter`];
  const command = new Command([...VERBOSE, "--http", "--port", "0", "--store", "memory", ...tokens]);
  const { url } = await command.served();
  for (const token of ["s3cret-mcp", "s3cret-mcp-wrong"]) {
    for (const body of ["{", '{"jsonrpc":"2.0","id":1,"method":"ping"}', '"s3cret-body"']) {
      const headers = {
        authorization: `Bearer ${token}`,
        accept: "application/json, text/event-stream",
        "content-type": "application/json",
        "mcp-session-id": token,
      };
      const response = await fetch(`${url}?token=${token}`, { method: "POST", headers, body });
      expect(`${JSON.stringify([...response.headers])}${await response.text()}`).not.toContain("s3cret");
    }
  }
  command.process.kill("SIGTERM");
  await command.ended;
  expect(command.stdout + command.stderr).not.toContain("s3cret");
});
