/** A store that cannot be had stops the start: the process says which and why, and no port was opened. */
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { freePort } from "../../../test/services/free-port.js";
import { Command, temporaryFolder } from "./command.js";

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
