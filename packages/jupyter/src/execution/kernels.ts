/**
 * Which kernel a run gets.
 *
 * A notebook's kernel is the one that its Jupyter session has, be it a person's: two kernels for one notebook would be two
 * states of it. Kernels are shared with people and other programs, so none is ever ended here, except those that were
 * started here for no notebook.
 */
import { createHash, randomUUID } from "node:crypto";
import { type Clock, type Logger, systemClock } from "@claimcheck/core";
import {
  type ConnectionOptions,
  JupyterError,
  type JupyterRest,
  type KernelModel,
  type SessionModel,
} from "../kernel/index.js";
import { Turns } from "../turns.js";
import { KernelError } from "./errors.js";
import { SharedKernel } from "./shared-kernel.js";

/** A kernel for a run, and whether what ran before is still known to it. */
export interface AssignedKernel {
  kernel: SharedKernel;
  /**
   * - `same`: the one that it got the last time
   * - `adopted`: it was there before us, with whatever state it has
   * - `started`: a new one
   * - `restarted`: the same one, but its process is another: the state is lost
   * - `replaced`: another one, because the one of the last time is gone: the state is lost
   */
  origin: "same" | "adopted" | "started" | "restarted" | "replaced";
}

export interface KernelsOptions {
  rest: JupyterRest;
  /**
   * Which processes take up the kernels for code that one of them leaves when it is killed: those of one deployment. Default:
   * none but this one.
   */
  deployment?: string;
  /** Passed on to each connection. */
  connection?: Partial<Omit<ConnectionOptions, "rest" | "kernelId" | "sessionId">>;
  clock?: Clock;
  logger?: Logger;
}

/** What was assigned the last time, for comparison. */
interface Assignment {
  kernelId: string;
  processes: number;
  assignedAt: number;
}

/** What the sessions of kernels for code are called by: then hashes of the deployment and of whose it is, then a random part. */
const MARK = "claimcheck-";
/** Somebody waits for it, whoever is connected. */
const RUNS_SOMETHING: ReadonlySet<string> = new Set(["busy", "starting"]);
/** A kernel for code that nobody has been connected to for so long is nobody's any more. */
const FORSAKEN_MS = 7 * 86_400_000;
/** For so long a kernel that was there is taken to be there: asking the server before every run would double its cost. */
const TRUSTED_MS = 1_000;

/** The kernels of one Jupyter Server, as this process uses them. */
export class Kernels {
  readonly #rest: JupyterRest;
  readonly #options: KernelsOptions;
  readonly #clock: Clock;
  /** Of this deployment's kernels for code. */
  readonly #mark: string;
  readonly #connected = new Map<string, Promise<SharedKernel>>();
  /** By notebook path, by kernel id, and for snippets. */
  readonly #assigned = new Map<string, Assignment>();
  /** Of assignments, by the same keys: two at once would start two kernels. */
  readonly #turns = new Turns();
  readonly #startedHere = new Set<string>();
  #isClosed = false;

  constructor(options: KernelsOptions) {
    this.#rest = options.rest;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#mark = `${MARK}${hashOf(options.deployment ?? randomUUID())}-`;
  }

  /**
   * The kernel of a notebook: that of its session, else a new one in the notebook's folder.
   *
   * @param path below the server's root
   * @param kernelName the kernelspec to start if there is no session. Default: the server's default.
   * @throws KernelError, JupyterError
   */
  async forNotebook(path: string, kernelName?: string): Promise<AssignedKernel> {
    const normal = path.replace(/^\/+/, "");
    return await this.#inTurn(`notebook ${normal}`, async (key) => {
      const session = await this.#sessionOf(normal);
      if (session?.kernel) return await this.#assign(key, session.kernel.id, "adopted");
      const kernelId = await this.#startFor(normal, kernelName);
      return await this.#assign(key, kernelId, "started");
    });
  }

  /**
   * The kernel for code that belongs to no notebook: one of our own for all of it, of the server's default kernelspec. It is in
   * a session that says whose it is: a process that is killed leaves it to the next one of its deployment, and people see what
   * it is. What other deployments have left is not touched, unless nobody has come for it in a week.
   *
   * @param owner whose code it is: nobody finds another's variables. Default: one owner for all.
   * @throws KernelError, JupyterError
   */
  async forSnippets(owner = ""): Promise<AssignedKernel> {
    return await this.#inTurn(`snippets ${owner}`, async (key) => {
      const last = this.#assigned.get(key);
      if (last && (await this.#isThere(last))) return await this.#assign(key, last.kernelId, "adopted");
      const mark = `${this.#mark}${hashOf(owner)}-`;
      const left = last === undefined ? await this.#leftBehind(mark) : undefined;
      const id = left ?? (await this.#startMarked(`${mark}${randomUUID().slice(0, 8)}`));
      this.#startedHere.add(id);
      return await this.#assign(key, id, left === undefined ? "started" : "adopted");
    });
  }

  /**
   * A kernel that runs already.
   * @throws KernelError `kernel_not_found`, with the kernels that there are; JupyterError
   */
  async withId(kernelId: string): Promise<AssignedKernel> {
    return await this.#inTurn(`kernel ${kernelId}`, async (key) => {
      try {
        return await this.#assign(key, kernelId, "adopted");
      } catch (cause) {
        if (JupyterError.is(cause) && cause.code === "not_found") throw await this.#unknownKernel(kernelId, cause);
        throw cause;
      }
    });
  }

  /**
   * A kernel that an earlier process used, for what it left there.
   *
   * @param sessionId that of the earlier process's connection: the server hands out under it what it held back since. To be
   *   given only when that process is known to be gone; default: a session of our own.
   * @throws KernelError, JupyterError `not_found` when the kernel is gone
   */
  async left(kernelId: string, sessionId?: string): Promise<SharedKernel> {
    const { kernel } = await this.#inTurn(`kernel ${kernelId}`, async (key) => {
      // Another deployment's may have been named by its id; that one is connected to it.
      const marked = await this.#markedKernels(MARK);
      const isLeft = marked.some((kernel) => kernel.id === kernelId && !this.#isUsedElsewhere(kernel));
      await this.#connect(kernelId, sessionId);
      if (isLeft) this.#startedHere.add(kernelId);
      return await this.#assign(key, kernelId, "adopted");
    });
    return kernel;
  }

  /**
   * Closes all connections, and ends the kernels that were started for no notebook, but for those of `kept`. May be called
   * again.
   */
  async close(kept: ReadonlySet<string> = new Set()): Promise<void> {
    this.#isClosed = true;
    await this.#turns.ended();
    const own = [...this.#startedHere].filter((kernelId) => !kept.has(kernelId));
    this.#startedHere.clear();
    // Before their connections go, without which they would look as if they had been left to whoever starts now. One that
    // cannot be ended is gone already, or its server is.
    await Promise.allSettled(own.map((kernelId) => this.#rest.deleteKernel(kernelId)));
    const kernels = await Promise.allSettled(this.#connected.values());
    await Promise.all(kernels.map((each) => (each.status === "fulfilled" ? each.value.connection.close() : undefined)));
  }

  async #inTurn(key: string, assign: (key: string) => Promise<AssignedKernel>): Promise<AssignedKernel> {
    if (this.#isClosed) throw new KernelError("closed", "No code can be run any more: the server is being closed.");
    return await this.#turns.take(key, () => assign(key));
  }

  async #assign(key: string, kernelId: string, origin: "adopted" | "started"): Promise<AssignedKernel> {
    const kernel = await this.#connect(kernelId);
    const last = this.#assigned.get(key);
    this.#assigned.set(key, { kernelId, processes: kernel.processes, assignedAt: this.#clock.now() });
    if (last === undefined) return { kernel, origin };
    if (last.kernelId !== kernelId) return { kernel, origin: "replaced" };
    return { kernel, origin: last.processes === kernel.processes ? "same" : "restarted" };
  }

  #connect(kernelId: string, sessionId?: string): Promise<SharedKernel> {
    const known = this.#connected.get(kernelId);
    if (known) return known;
    const connecting = this.#newConnection(kernelId, sessionId);
    this.#connected.set(kernelId, connecting);
    connecting.catch(() => this.#connected.delete(kernelId));
    return connecting;
  }

  async #newConnection(kernelId: string, sessionId: string | undefined): Promise<SharedKernel> {
    const { rest, connection, logger } = this.#options;
    const kernel = await SharedKernel.connect({
      ...connection,
      clock: this.#clock,
      ...(logger === undefined ? {} : { logger }),
      ...(sessionId === undefined ? {} : { sessionId }),
      rest,
      kernelId,
    });
    kernel.connection.subscribe((event) => {
      if (event.type === "closed") this.#connected.delete(kernelId);
    });
    return kernel;
  }

  async #sessionOf(path: string): Promise<SessionModel | undefined> {
    const sessions = await this.#rest.listSessions();
    return sessions.find((session) => session.type === "notebook" && session.path === path && session.kernel !== null);
  }

  /**
   * The kernel of a process that is gone: nobody is connected to it but we, who may have collected something from it. One that
   * still runs something may do so for long, and one that is starting has its process on the way to it.
   */
  async #leftBehind(mark: string): Promise<string | undefined> {
    const marked = await this.#markedKernels(mark);
    const left = marked.find((kernel) => !RUNS_SOMETHING.has(kernel.executionState) && !this.#isUsedElsewhere(kernel));
    void this.#endForsaken(left?.id).catch(() => {});
    return left?.id;
  }

  #isUsedElsewhere({ id, connections }: KernelModel): boolean {
    return connections > (this.#connected.has(id) ? 1 : 0);
  }

  /** Whichever deployment's they are: where none comes back for its kernel, nothing else would ever end it. */
  async #endForsaken(kept: string | undefined): Promise<void> {
    const before = this.#clock.now() - FORSAKEN_MS;
    const marked = await this.#markedKernels(MARK);
    const forsaken = marked.filter(
      ({ id, connections, executionState, lastActivity }) =>
        id !== kept && connections === 0 && !RUNS_SOMETHING.has(executionState) && Date.parse(lastActivity) < before,
    );
    await Promise.allSettled(forsaken.map(({ id }) => this.#rest.deleteKernel(id)));
  }

  async #markedKernels(mark: string): Promise<KernelModel[]> {
    const sessions = await this.#rest.listSessions();
    const marked = sessions.filter(({ type, path }) => type === "console" && path.startsWith(mark));
    return marked.flatMap(({ kernel }) => kernel ?? []);
  }

  async #startMarked(path: string): Promise<string> {
    const { kernel } = await this.#rest.openSession(path, { type: "console", name: "claimcheck" });
    if (kernel !== null) return kernel.id;
    throw new JupyterError("server_error", "The server opened a session for code and started no kernel for it.");
  }

  async #startFor(path: string, kernelName: string | undefined): Promise<string> {
    if (kernelName !== undefined) await this.#refuseUnknownSpec(kernelName);
    const session = await this.#rest.openSession(path, kernelName === undefined ? {} : { kernelName });
    if (session.kernel) return session.kernel.id;
    throw new JupyterError("server_error", `The server opened a session of ${path} and started no kernel for it.`);
  }

  /** Asked for an unknown one, a server starts its default without a word, or fails without a reason. */
  async #refuseUnknownSpec(kernelName: string): Promise<void> {
    const { specs, defaultName } = await this.#rest.listKernelSpecs();
    if (specs.some(({ name }) => name === kernelName)) return;
    const choices = specs.map(({ name, displayName }) => {
      return `${JSON.stringify(name)} (${displayName}${name === defaultName ? ", the default" : ""})`;
    });
    const available = choices.length === 0 ? "it has none at all" : `it has ${choices.join(", ")}`;
    const message = `The server has no kernel named ${JSON.stringify(kernelName)}: ${available}.`;
    throw new KernelError("unknown_kernelspec", message);
  }

  async #isThere({ kernelId, processes, assignedAt }: Assignment): Promise<boolean> {
    const kernel = await this.#connected.get(kernelId)?.catch(() => undefined);
    const isUnchanged = kernel?.connection.state === "open" && kernel.processes === processes;
    if (isUnchanged && this.#clock.now() - assignedAt < TRUSTED_MS) return true;
    try {
      await this.#rest.getKernel(kernelId);
      return true;
    } catch (error) {
      if (JupyterError.is(error) && error.code === "not_found") return false;
      throw error;
    }
  }

  async #unknownKernel(kernelId: string, cause: JupyterError): Promise<KernelError> {
    const running = await this.#rest.listKernels();
    const list = running.map(({ id, name, executionState }) => `${id} (${name}, ${executionState})`).join(", ");
    const hint = list === "" ? "none is running" : `running are ${list}`;
    return new KernelError("kernel_not_found", `No kernel has the id ${kernelId}: ${hint}.`, { cause });
  }
}

/** Names are told to whoever may list the server's sessions; what they are made of is not. */
function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}
