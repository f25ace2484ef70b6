import { homedir } from "node:os";
import type { Writable } from "node:stream";
import { StartError } from "./errors.js";

/** What the command takes from the process that it runs in; a test passes its own. */
export interface Host {
  env: Readonly<Record<string, string | undefined>>;
  /** @throws StartError when it is not there any more */
  readonly cwd: string;
  homeDir: string;
  platform: NodeJS.Platform;
  /** Whether a person sits at stdin, and no client. */
  isInteractive: boolean;
  stdout: Writable;
  /** For people and for logs: on stdio, stdout belongs to the protocol. */
  stderr: Writable;
}

export function processHost(): Host {
  const { env, platform, stdout, stderr } = process;
  const isInteractive = process.stdin.isTTY === true;
  return {
    env,
    // Read when it is needed: without it there is still somewhere to say what is wrong.
    get cwd() {
      return workingFolder();
    },
    homeDir: homedir(),
    platform,
    isInteractive,
    stdout,
    stderr,
  };
}

function workingFolder(): string {
  try {
    return process.cwd();
  } catch (cause) {
    const message = "the folder that this was started in is not there any more; start it in another one";
    throw new StartError(message, { cause });
  }
}
