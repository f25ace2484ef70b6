import { homedir } from "node:os";
import type { Writable } from "node:stream";

/** What the command takes from the process that it runs in; a test passes its own. */
export interface Host {
  env: Readonly<Record<string, string | undefined>>;
  cwd: string;
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
  return { env, cwd: process.cwd(), homeDir: homedir(), platform, isInteractive, stdout, stderr };
}
