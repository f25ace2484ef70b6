/** Builds the program of the processes under test, from the sources and into one file: it starts in half the time. */
import { rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "vite";

const root = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");
const conditions = ["@claimcheck/source", "module", "node"];

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
    resolve: { conditions },
    // Native code has to be found where it is installed.
    ssr: { noExternal: true, external: ["@photostructure/sqlite", "pg-native"], resolve: { conditions } },
    build: {
      ssr: fileURLToPath(new URL("server-process.ts", import.meta.url)),
      outDir,
      sourcemap: true,
      rolldownOptions: { output: { codeSplitting: false } },
    },
  });
  return `${outDir}/server-process.js`;
}
