/**
 * A command and whatever it starts, as one process group: it is stopped, killed and waited for as a whole. Nothing of it
 * outlives this process, unless this process is killed itself or the command leaves the group (`setsid`).
 *
 * On Windows there are no process groups: the tree is killed with `taskkill`, without a chance to stop by itself. That has
 * not been tried.
 */
import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";

/** How long what a command left running may go on writing to its output. */
const LINGER_MS = 1000;
/** How long the last of the output may take to come once nobody of the group is left. */
const LAST_OUTPUT_MS = 100;
/** After how long it is first looked whether a group has gone, then after twice as long: of processes that are not our children nobody tells us. */
const FIRST_LOOK_MS = 10;

const IS_WINDOWS = process.platform === "win32";

export interface ProcessEnd {
  /** `null` when a signal ended it. */
  exitCode: number | null;
  signal: NodeJS.Signals | null;
  /** Whether somebody outside the group still held the output when it was waited for no longer. */
  outputWasHeld: boolean;
}

const living = new Set<ProcessGroup>();

function killAll(): void {
  for (const group of living) group.kill();
}

export class ProcessGroup {
  readonly child: ChildProcess;
  /** Resolves when the command has ended, all its output has come, and nobody of its group is left. */
  readonly ended: Promise<ProcessEnd>;
  readonly #graceMs: number;
  #isGone = false;
  #terminated = false;
  readonly #killed = new AbortController();

  /** Resolves when the command runs; rejects with the system's error when it cannot be run. */
  static async start(
    [program, ...args]: readonly [string, ...string[]],
    options: SpawnOptions,
    graceMs: number,
  ): Promise<ProcessGroup> {
    const child = spawn(program, args, { ...options, detached: !IS_WINDOWS, windowsHide: true });
    const group = new ProcessGroup(child, graceMs);
    await once(child, "spawn");
    return group;
  }

  private constructor(child: ChildProcess, graceMs: number) {
    this.child = child;
    this.#graceMs = graceMs;
    for (const emitter of [child, child.stdin, child.stdout, child.stderr]) emitter?.on("error", () => {});
    if (child.pid !== undefined) {
      if (living.size === 0) process.on("exit", killAll);
      living.add(this);
    }
    this.ended = this.#end();
    // Of a command that could not be run `start` tells.
    this.ended.catch(() => {});
  }

  /** Asks everybody in the group to stop (SIGTERM). */
  terminate(): void {
    this.#terminated = true;
    this.#signal("SIGTERM");
  }

  /** Ends everybody in the group (SIGKILL). */
  kill(): void {
    this.#signal("SIGKILL");
    this.#killed.abort();
  }

  async #end(): Promise<ProcessEnd> {
    const closed = once(this.child, "close").then(() => true);
    try {
      const [exitCode, signal] = (await once(this.child, "exit")) as [number | null, NodeJS.Signals | null];
      await Promise.race([closed, this.#pause(LINGER_MS)]);
      await this.#endLeftovers();
      const outputWasHeld = !(await Promise.race([closed, pause(LAST_OUTPUT_MS, false, { ref: false })]));
      return { exitCode, signal, outputWasHeld };
    } finally {
      closed.catch(() => {});
      for (const stream of [this.child.stdin, this.child.stdout, this.child.stderr]) stream?.destroy();
      living.delete(this);
      if (living.size === 0) process.off("exit", killAll);
    }
  }

  /** The command has ended; what it left running in its group has its grace to do the same. */
  async #endLeftovers(): Promise<void> {
    if (this.#hasGone()) return;
    if (!this.#terminated) this.terminate();
    for (let waitedMs = 0, lookMs = FIRST_LOOK_MS; waitedMs < this.#graceMs; waitedMs += lookMs, lookMs *= 2) {
      if (this.#killed.signal.aborted || this.#hasGone()) break;
      await this.#pause(Math.min(lookMs, this.#graceMs - waitedMs));
    }
    this.kill();
    this.#isGone = true;
  }

  /** Waits, but not once the group is killed. */
  async #pause(ms: number): Promise<void> {
    await pause(ms, undefined, { ref: false, signal: this.#killed.signal }).catch(() => {});
  }

  #hasGone(): boolean {
    this.#isGone ||= IS_WINDOWS || !this.#signal(0) || !hasLivingMember(this.child.pid as number);
    return this.#isGone;
  }

  /** Answers whether there was anybody to hear it. Once nobody is there the number may come to mean somebody else. */
  #signal(signal: NodeJS.Signals | 0): boolean {
    const { pid } = this.child;
    if (pid === undefined || this.#isGone) return false;
    if (IS_WINDOWS) {
      if (this.child.exitCode === null) spawn("taskkill", ["/pid", `${pid}`, "/t", "/f"]).on("error", () => {});
      return true;
    }
    try {
      process.kill(-pid, signal);
      return true;
    } catch {
      return false;
    }
  }
}

/**
 * Whether anybody of a group that can be signalled is more than a zombie. Those are signalled in vain for as long as their
 * parent does not look, which the first process of a container may never do. Told apart on Linux only.
 */
function hasLivingMember(groupId: number): boolean {
  if (process.platform !== "linux") return true;
  return readdirSync("/proc").some((name) => /^\d+$/.test(name) && isLivingMember(name, groupId));
}

function isLivingMember(pid: string, groupId: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // After the name, which may hold anything: state, parent, group (proc_pid_stat(5)).
    const [state, , group] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return Number(group) === groupId && state !== "Z" && state !== "X";
  } catch {
    return false;
  }
}
