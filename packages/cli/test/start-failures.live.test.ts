/** A store that cannot be had stops the start: the process says which and why, and no port was opened. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { freePort } from "../../../test/services/free-port.js";
import { bin, Command, temporaryFolder } from "./command.js";

/** What the start ends with; meanwhile the port is tried. */
async function failedStart(store: string, { folder = temporaryFolder(), asVariable = false } = {}) {
  const port = await freePort();
  const args = ["jupyter", "--http", "--port", `${port}`, ...(asVariable ? [] : ["--store", store])];
  const command = new Command(args, asVariable ? { JUPYTER_MCP_TASK_STORE_CLASS: store } : {}, folder);
  let wasOpen = false;
  const trying = setInterval(() => {
    const socket = connect(port, "127.0.0.1", () => {
      wasOpen = true;
    });
    socket.on("error", () => {}).unref();
  }, 20);
  try {
    const code = await command.ended;
    expect(wasOpen).toBe(false);
    return { code, stderr: command.stderr };
  } finally {
    clearInterval(trying);
  }
}

test.each([
  ["no_such_module:Store", /no_such_module/],
  ["./stores.mjs:Missing", /no class Missing/],
  ["./stores.mjs:Throwing", /no driver here/],
  ["./stores.mjs:Unreachable", /ECONNREFUSED/],
  ["./stores.mjs:Silent", /it does not open: nothing that it could be waiting for is left/],
  ["data:text/javascript,await new Promise(() => {});:Store", /it does not open/],
  ["no form at all", /none of memory, sqlite:FILE, postgres:/],
])("%s, as --store and as JUPYTER_MCP_TASK_STORE_CLASS", async (store, cause) => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, "stores.mjs"), STORES);
  for (const asVariable of [false, true]) {
    const { code, stderr } = await failedStart(store, { folder, asVariable });
    expect(code).toBe(3);
    expect(stderr).toContain(`claimcheck: the store ${store} cannot be used`);
    expect(stderr).toMatch(cause);
    expect(stderr).not.toMatch(/^\s+at /m);
  }
});

const STORES = `
  class Base { create() {} get() {} list() {} update() {} findByKey() {} }
  export class Throwing { constructor() { throw new Error("no driver here"); } }
  export class Silent extends Base { open() { return new Promise(() => {}); } close() { return new Promise(() => {}); } }
  export class Unreachable extends Base { async open() { throw new Error("connect ECONNREFUSED 127.0.0.1:1"); } }
`;

test("a file that is no database", async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, "notes.txt"), "these are my notes, and no database at all\n".repeat(200));
  const { code, stderr } = await failedStart("sqlite:notes.txt", { folder });
  expect(code).toBe(3);
  expect(stderr).toContain("notes.txt");
});

test("a folder that is not there", async () => {
  const { code, stderr } = await failedStart("sqlite:missing/tasks.db");
  expect(code).toBe(3);
  expect(stderr).toContain("missing");
});

test.each(["postgres", "redis"])("a %s server that is not there, without its password", async (scheme) => {
  const { code, stderr } = await failedStart(`${scheme}://ann:s3cret@127.0.0.1:1/0`);
  expect(code).toBe(3);
  expect(stderr).toContain("127.0.0.1:1");
  expect(stderr).not.toContain("s3cret");
  expect(stderr).not.toContain("held open");
});

test("a state folder that cannot be made", async () => {
  const home = temporaryFolder();
  mkdirSync(join(home, ".local"));
  writeFileSync(join(home, ".local/state"), "a file is in the way");
  chmodSync(home, 0o700);
  const command = new Command(["jupyter"], {}, home);
  expect(await command.ended).toBe(3);
  expect(command.stderr).toMatch(/the folder .* for the task store cannot be made/);
});

test("a folder of notebooks that is not there", async () => {
  const command = new Command(["jupyter", "--root", "no-such-folder"], {}, temporaryFolder());
  expect(await command.ended).toBe(2);
  expect(command.stderr).toMatch(/there is no folder .*no-such-folder/);
});

/** Says when it opens, and is open a moment after a signal has come; or never, though it waits for something. */
const SLOW_STORES = `
  class Base { create() {} get() {} list() {} update() {} findByKey() {} }
  export class Slow extends Base {
    open() {
      console.error("opening");
      const busy = setInterval(() => {}, 1000);
      return new Promise((resolve) => process.once("SIGTERM", () => setTimeout(() => resolve(clearInterval(busy)), 100)));
    }
    async close() { console.error("closed"); }
  }
  export class Hanging extends Base {
    open() {
      console.error("opening");
      return new Promise(() => setInterval(() => {}, 1000));
    }
  }
`;

test.each([
  ["Slow", "60", 0, /closed\n$/],
  ["Hanging", "1", 1, /"step":"start".*did not end within the grace period/],
])("a signal ends the start on a store that is not open yet: %s", async (name, grace, code, said) => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, "stores.mjs"), SLOW_STORES);
  const args = ["jupyter", "--http", "--port", "0", "--grace", grace, "--store", `./stores.mjs:${name}`];
  const command = new Command(args, {}, folder);
  await command.until(() => command.stderr.includes("opening"));
  command.process.kill("SIGTERM");
  expect(await command.ended).toBe(code);
  expect(command.stderr).toMatch(said);
  expect(command.stderr).not.toContain("serving MCP");
});

test("a folder to start in that is not there any more", async () => {
  const removed = ["-c", 'rmdir "$PWD" && exec "$@"', "sh", process.execPath, bin];
  const { PATH = "" } = process.env;
  const child = spawn("sh", [...removed, "jupyter"], {
    cwd: temporaryFolder(),
    env: { PATH, HOME: temporaryFolder() },
  });
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  child.stdin.end();
  expect(await once(child, "close")).toEqual([3, null]);
  expect(stderr).toBe(
    "claimcheck: the folder that this was started in is not there any more; start it in another one\n",
  );
});
