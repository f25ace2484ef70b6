import { constants } from "node:os";

/** What the process says when it ends. `--help` lists them. */
export const EXIT = {
  /** Ended in order: stdin ended, or a signal asked for it. */
  ok: 0,
  /** Something broke while serving, or would not end within the grace period. */
  failed: 1,
  /** The command line is wrong; nothing was started. */
  usage: 2,
  /** The store, the port or the working folder cannot be had, or the Jupyter Server's URL is none; nothing is served. */
  cannotStart: 3,
} as const;

/** One of {@link EXIT}. */
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** As a shell counts a process that a signal ended; a second signal ends us so, at once. */
export function signalExitCode(signal: NodeJS.Signals): number {
  return 128 + constants.signals[signal];
}
