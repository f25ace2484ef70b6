/**
 * `npm run chaos -- --store postgres --seed 123`: one seed of the chaos tests, on the built packages; a timeline when
 * it fails. `--seeds 20` runs that many from there on. Without arguments, seed 1 on SQLite.
 */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { exitCodeOf } from "./run.mjs";
import { root, say, setUp } from "./setup.mjs";

async function main(args) {
  await setUp();
  const loader = pathToFileURL(join(root, "scripts/typescript.mjs")).href;
  return await exitCodeOf(process.execPath, ["--import", loader, join(root, "test/chaos/main.ts"), ...args]);
}

process.exitCode = await main(process.argv.slice(2)).catch((error) => {
  say(error.message);
  return 1;
});
