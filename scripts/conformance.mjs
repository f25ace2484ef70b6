/**
 * `npm run conformance`: the official MCP conformance suite against our fixture server, on the built packages.
 * `npm run conformance -- tasks-lifecycle` runs one scenario.
 */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { exitCodeOf } from "./run.mjs";
import { root, say, setUp } from "./setup.mjs";

async function main(args) {
  await setUp();
  const loader = pathToFileURL(join(root, "scripts/typescript.mjs")).href;
  return await exitCodeOf(process.execPath, ["--import", loader, join(root, "test/conformance/main.ts"), ...args]);
}

process.exitCode = await main(process.argv.slice(2)).catch((error) => {
  say(error.message);
  return 1;
});
