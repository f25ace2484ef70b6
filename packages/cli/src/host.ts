import { homedir } from "node:os";
import type { Writable } from "node:stream";
import { StartError } from "./errors.js";

/** What the command takes from the process that it runs in; a test passes its own. */
export interface Host {
  env: Readonly<Record<string, string | undefined>>;
  /** @throws StartError when it is not there any more */
  readonly cwd: string;
  /** @throws StartError when this user has none */
  readonly homeDir: string;
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
    // The folders are read when they are needed: without one there is still somewhere to say what is wrong.
    get cwd() {
      return workingFolder();
    },
    get homeDir() {
      return homeFolder();
    },
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

/** In a container the user may be a number alone, without a name or a folder. */
function homeFolder(): string {
  try {
    return homedir();
  } catch (cause) {
    throw new StartError("this user has no home folder: set HOME, or XDG_STATE_HOME to a folder for what is kept", {
      cause,
    });
  }
}
