/**
 * `npm start`: installs and builds what is missing, then shows the main job on a real kernel and keeps serving.
 * `npm start -- --once` ends after the show, with exit code 0 when every step went as it should.
 */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { exitCodeOf } from "./run.mjs";
import { root, say, setUp } from "./setup.mjs";

async function main(args) {
  await setUp();
  const loader = pathToFileURL(join(root, "scripts/typescript.mjs")).href;
  return await exitCodeOf(process.execPath, [
    "--import",
    loader,
    join(root, "examples/collect-later/main.ts"),
    ...args,
  ]);
}

process.exitCode = await main(process.argv.slice(2)).catch((error) => {
  say(error.message);
  return 1;
});
