/** A process for the command to run in, of which nothing is real but what a test says. */
import { Writable } from "node:stream";
import type { Host } from "../src/host.js";

export interface TestHost extends Host {
  /** What has been written so far. */
  written(stream: "stdout" | "stderr"): string;
}

export function testHost(given: Partial<Host> = {}): TestHost {
  const text = { stdout: "", stderr: "" };
  const collect = (name: "stdout" | "stderr") =>
    new Writable({
      decodeStrings: false,
      write: (chunk: string, _, done) => {
        text[name] += chunk;
        done();
      },
    });
  return {
    env: {},
    cwd: "/work",
    homeDir: "/home/ann",
    platform: "linux",
    isInteractive: false,
    stdout: collect("stdout"),
    stderr: collect("stderr"),
    ...given,
    written: (stream) => text[stream],
  };
}
