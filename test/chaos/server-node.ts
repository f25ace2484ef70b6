/** One place of a world: a process that is killed, paused and started again; its URL is another one each time. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import type { ProcessConfig } from "./server-process.js";

/** Where nobody serves: a port that refuses. */
const NOWHERE = "http://127.0.0.1:2/mcp";

/** How often a process is started whose store cannot be opened; for longer a server is never away. */
const MOST_STARTS = 15;

export interface ServerNodeOptions {
  /** The built program. */
  program: string;
  config: ProcessConfig;
  /** An open file, to which what the processes say on stderr is added. */
  log: number;
  onCrash: (how: string) => void;
}

export class ServerNode {
  readonly #options: ServerNodeOptions;
  #child: ChildProcess | undefined;
  #url = NOWHERE;
  #starting: Promise<void> | undefined;
  #isPaused = false;

  constructor(options: ServerNodeOptions) {
    this.#options = options;
  }

  get isPaused(): boolean {
    return this.#isPaused;
  }

  get url(): string {
    return this.#url;
  }

  /** Starts a process unless there is one. Resolves when it serves; tries again while its store cannot be opened. */
  start(): Promise<void> {
    this.#starting ??= this.#start().finally(() => {
      this.#starting = undefined;
    });
    return this.#starting;
  }

  async #start(): Promise<void> {
    for (let tries = 1; this.#child === undefined; tries += 1) {
      if (await this.#spawn()) break;
      if (tries === MOST_STARTS) throw new Error("A process under test could not be started.");
      await sleep(200);
    }
  }

  /** Whether the new process serves; one that cannot open its store, as while that is away, ends. */
  async #spawn(): Promise<boolean> {
    const { program, config, log } = this.#options;
    const child = spawn(process.execPath, ["--enable-source-maps", program, JSON.stringify(config)], {
      stdio: ["pipe", "pipe", log],
    });
    this.#child = child;
    // A pipe to a process that was killed.
    child.stdin?.on("error", () => {});
    const exited = once(child, "exit");
    const serving = once(createInterface({ input: child.stdout as NodeJS.ReadableStream }), "line");
    const line = await Promise.race([serving, exited.then(() => undefined)]);
    if (line === undefined || this.#child !== child) {
      if (this.#child === child) this.#child = undefined;
      return false;
    }
    this.#url = String(line[0]);
    void exited.then(([code, signal]) => {
      if (this.#child !== child) return;
      this.#lose();
      this.#options.onCrash(`exit code ${code}, signal ${signal}`);
    });
    return true;
  }

  async kill(): Promise<void> {
    const child = this.#lose();
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, "exit");
    child.kill("SIGKILL");
    await exited;
  }

  /** Asks the process to end; kills it when it has not within `withinMs`. Answers whether it went by itself. */
  async leave(withinMs: number): Promise<boolean> {
    const child = this.#lose();
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return true;
    const exited = once(child, "exit");
    child.kill("SIGTERM");
    // One that is stopped hears nothing.
    child.kill("SIGCONT");
    const left = await Promise.race([exited.then(() => true), sleep(withinMs, false)]);
    if (!left) child.kill("SIGKILL");
    await exited;
    return left;
  }

  pause(): void {
    this.#isPaused = true;
    this.#child?.kill("SIGSTOP");
  }

  resume(): void {
    this.#isPaused = false;
    this.#child?.kill("SIGCONT");
  }

  #lose(): ChildProcess | undefined {
    const child = this.#child;
    this.#child = undefined;
    this.#url = NOWHERE;
    this.#isPaused = false;
    return child;
  }
}
