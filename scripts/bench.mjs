/**
 * `npm run bench -- NAME`: runs bench/NAME.ts on the built packages; without a name, lists them. A benchmark ends with
 * a line `ratio NAME VALUE`, and one that does not has not finished its job. What several of them need lies in folders
 * under bench/, which are not listed.
 */
import { spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { root, say, setUp } from "./setup.mjs";

const folder = join(root, "bench");
const names = (existsSync(folder) ? readdirSync(folder, { withFileTypes: true }) : [])
  .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
  .map((entry) => entry.name.replace(/\.ts$/, ""))
  .sort();

function list() {
  process.stdout.write("usage: npm run bench -- NAME\n\n");
  for (const name of names) process.stdout.write(`  ${name.padEnd(24)}${summaryOf(name)}\n`);
  if (names.length === 0) process.stdout.write("  (no benchmark yet)\n");
}

/** The first sentence of the file's opening comment. */
function summaryOf(name) {
  const comment = /^\/\*\*([\s\S]*?)\*\//.exec(readFileSync(join(folder, `${name}.ts`), "utf8"))?.[1] ?? "";
  const text = comment
    .replace(/^\s*\* ?/gm, " ")
    .replace(/\s+/g, " ")
    .trim();
  return /^.*?[.:](?=\s|$)/.exec(text)?.[0] ?? text;
}

/** Passes the output on and keeps its last line. */
function runBench(name, args) {
  return new Promise((resolve, reject) => {
    const loader = pathToFileURL(join(root, "scripts/typescript.mjs")).href;
    const command = ["--import", loader, "--expose-gc", join(folder, `${name}.ts`), ...args];
    const child = spawn(process.execPath, command, { cwd: root, stdio: ["inherit", "pipe", "inherit"] });
    let tail = "";
    child.stdout.setEncoding("utf8").on("data", (text) => {
      process.stdout.write(text);
      tail = (tail + text).slice(-1000);
    });
    child.once("error", reject);
    child.once("close", (code, signal) =>
      resolve({ code: code ?? signal, lastLine: tail.trimEnd().split("\n").pop() }),
    );
  });
}

async function main([name, ...args]) {
  if (name === undefined) return list();
  if (!names.includes(name))
    throw new Error(`no benchmark is called ${name}; there are: ${names.join(", ") || "none"}`);
  await setUp();
  const { code, lastLine } = await runBench(name, args);
  if (code !== 0) throw new Error(`${name} ended with ${code}`);
  if (!/^ratio \S+ \d+(\.\d+)?$/.test(lastLine)) throw new Error(`${name} ended without its line "ratio NAME VALUE"`);
}

await main(process.argv.slice(2)).catch((error) => {
  say(error.message);
  process.exitCode = 1;
});
