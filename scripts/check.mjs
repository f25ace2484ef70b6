/** `npm run check`: what must hold before every commit, without services and in under a minute. */
import { join } from "node:path";
import { exitCodeOf } from "./run.mjs";
import { install, root, say } from "./setup.mjs";

const steps = [
  ["types", "typescript-native/bin/tsc", ["-b"]],
  ["format and lint", "@biomejs/biome/bin/biome", ["ci", "."]],
  ["layering and fast tests", "vitest/vitest.mjs", ["run", "--project", "fast*"]],
];

/** All steps run, also after one has failed: one look shows everything that is wrong. */
async function main() {
  await install();
  const failed = [];
  for (const [title, script, args] of steps) {
    const startedAt = performance.now();
    const code = await exitCodeOf(process.execPath, [join(root, "node_modules", script), ...args], { cwd: root });
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    say(`${title}: ${code === 0 ? "ok" : "FAILED"} (${seconds} s)`);
    if (code !== 0) failed.push(title);
  }
  if (failed.length > 0) throw new Error(`failed: ${failed.join(", ")}`);
}

await main().catch((error) => {
  say(error.message);
  process.exitCode = 1;
});
