/** Builds the program of the processes under test into one file; our packages it takes as they are built. */
import { rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "vite";

const root = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");

let building: Promise<string> | undefined;

/** @returns the path of the program */
export function buildProgram(): Promise<string> {
  building ??= buildOnce();
  return building;
}

async function buildOnce(): Promise<string> {
  // Of each process that tests its own, since others may be running theirs.
  const outDir = `${root}/.cache/chaos/${process.pid}`;
  process.once("exit", () => rmSync(outDir, { recursive: true, force: true }));
  await build({
    root,
    configFile: false,
    logLevel: "warn",
    ssr: { external: true },
    build: { ssr: fileURLToPath(new URL("server-process.ts", import.meta.url)), outDir, sourcemap: true },
  });
  return `${outDir}/server-process.js`;
}
