/** FastMCP's Python client: the last release that speaks the tasks of 2025, and one that speaks the extension of 2026. */
import { execFile } from "node:child_process";
import { mkdir, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { beforeAll, describe, expect, it } from "vitest";
import { ensureEnvironment } from "../../packages/jupyter/src/server/index.js";
import { TRANSPORTS } from "../protocol/serving.js";
import { RAISED } from "../protocol/tools.js";
import { addressOf, Open } from "./address.js";
import { ERAS, type Era } from "./sdk-v2.js";

const INSTALL_TIMEOUT_MS = 900_000;
const STORIES_TIMEOUT_MS = 120_000;
const pathOf = (name: string) => fileURLToPath(new URL(name, import.meta.url));

/** The Python that has the client of that era, installed first if need be. */
async function ensureFastMcp(era: Era): Promise<string> {
  const requirements = await readFile(pathOf(`./fastmcp-${era}-requirements.txt`), "utf8");
  await mkdir(pathOf("../../.cache"), { recursive: true });
  return await ensureEnvironment({
    dir: pathOf(`../../.cache/fastmcp-${era}-env`),
    requirements: requirements.trim().split("\n"),
    onProgress: (line) => process.stderr.write(`fastmcp for the tests: ${line}\n`),
  });
}

/** Nothing in another process is in this one's memory. */
const OTHER_PROCESSES = TRANSPORTS.filter((transport) => transport !== "in memory");

/** What it saw over each transport, in one process: it takes seconds to start. `fastmcp_client.py` has the story. */
async function run(python: string, era: Era): Promise<object[]> {
  const open = new Open();
  try {
    const addresses = await Promise.all(OTHER_PROCESSES.map((transport) => addressOf(transport, open)));
    const args = [pathOf("./fastmcp_client.py"), JSON.stringify({ era, addresses })];
    const { stdout } = await promisify(execFile)(python, args, { timeout: STORIES_TIMEOUT_MS });
    return stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
  } finally {
    await open.close();
  }
}

describe.each(ERAS)("in the era of %s", (era) => {
  let python: string;
  beforeAll(async () => {
    python = await ensureFastMcp(era);
  }, INSTALL_TIMEOUT_MS);

  it(
    `over ${OTHER_PROCESSES.join(", ")}: tasks are called, asked, failed and cancelled`,
    async () => {
      const seen = {
        echo: { text: "dug" },
        only_task: "done",
        asks: { names: ["Ada", "Alan"] },
        throws: expect.stringContaining("Out of disk."),
        fails: expect.stringContaining("No such branch."),
        raises: expect.stringContaining(RAISED.message),
        working: "working",
        cancelled: "cancelled",
        plain: { notes: [] },
        followed: { text: "dug" },
      };
      expect(await run(python, era)).toEqual(OTHER_PROCESSES.map(() => seen));
    },
    STORIES_TIMEOUT_MS,
  );
});
