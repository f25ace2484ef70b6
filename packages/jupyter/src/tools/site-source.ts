/** Where the Jupyter Server comes from: one that was there before us, or one of our own that lives while it is needed. */
import { setTimeout as delay } from "node:timers/promises";
import type { Clock, Logger } from "@claimcheck/core";
import { Kernels } from "../execution/index.js";
import { JupyterRest, type ServerAddress, serverAddress } from "../kernel/index.js";
import { NotebookFiles } from "../notebook/index.js";
import { type PrivateServer, type PrivateServerOptions, startPrivateServer } from "../server/index.js";
import { isAlive } from "../server/lock.js";
import type { Site } from "./workbench.js";

/** @see the file comment */
export interface SiteSource {
  /**
   * @param onProgress told what has to be done for a server first, if anything
   * @throws JupyterError, PrivateServerError
   */
  site(onProgress?: (line: string) => void): Promise<Site>;
  /** Closes the connections to kernels, and ends the kernels that were started for no notebook, but for those of `left`. */
  closeKernels(left?: ReadonlySet<string>): Promise<void>;
  /** The same, and ends the server if it is ours and nobody needs it. May be called again. */
  close(left?: ReadonlySet<string>): Promise<void>;
}

interface SiteOptions {
  clock: Clock;
  logger: Logger;
  deployment?: string;
}

function siteAt(address: ServerAddress, options: SiteOptions): Site {
  const rest = new JupyterRest(address);
  return { rest, kernels: new Kernels({ rest, ...options }), notebooks: new NotebookFiles(rest) };
}

/** The server at an address. */
export function givenSite(address: ServerAddress, options: SiteOptions): SiteSource {
  const site = siteAt(address, options);
  const closeKernels = (left?: ReadonlySet<string>): Promise<void> => site.kernels.close(left);
  return { site: async () => site, closeKernels, close: closeKernels };
}

/** A server of this machine, or one that is installed for the purpose: started when the first call needs it, and again if it has died. */
export function privateSite(options: PrivateServerOptions, site: SiteOptions): SiteSource {
  return new PrivateSite(options, site);
}

interface Running {
  server: PrivateServer;
  site: Site;
}

class PrivateSite implements SiteSource {
  readonly #serverOptions: PrivateServerOptions;
  readonly #siteOptions: SiteOptions;
  /** Of the calls that wait for the server. */
  readonly #listeners = new Set<(line: string) => void>();
  #running: Promise<Running> | undefined;
  /** What is being done for the server that is not there yet. */
  #step: string | undefined;
  #isClosed = false;

  constructor(serverOptions: PrivateServerOptions, siteOptions: SiteOptions) {
    this.#serverOptions = serverOptions;
    this.#siteOptions = siteOptions;
  }

  async site(onProgress: (line: string) => void = () => {}): Promise<Site> {
    this.#listeners.add(onProgress);
    // A step takes a minute: who comes in the middle of it hears of it too.
    if (this.#step !== undefined) onProgress(this.#step);
    try {
      return await this.#livingSite();
    } finally {
      this.#listeners.delete(onProgress);
    }
  }

  async closeKernels(left?: ReadonlySet<string>): Promise<void> {
    this.#isClosed = true;
    const running = await this.#running?.catch(() => undefined);
    await running?.site.kernels.close(left);
  }

  async close(left: ReadonlySet<string> = new Set()): Promise<void> {
    await this.closeKernels(left);
    const running = await this.#running?.catch(() => undefined);
    if (running === undefined) return;
    const { server, site } = running;
    if (left.size > 0 || (this.#serverOptions.outlive === true && (await isInUse(site.rest)))) await server.close();
    else await server.shutdown();
  }

  async #livingSite(): Promise<Site> {
    if (this.#isClosed) throw new Error("No code can be run any more: the server is being closed.");
    this.#running ??= this.#open();
    const last = this.#running;
    const { server, site } = await last;
    if (isAlive(server.pid)) return site;
    if (this.#running === last) this.#replace(server, site);
    return await this.#livingSite();
  }

  async #open(): Promise<Running> {
    try {
      const server = await startPrivateServer({ ...this.#serverOptions, onProgress: (line) => this.#tell(line) });
      return { server, site: siteAt(serverAddress(server.url, server.token), this.#siteOptions) };
    } catch (error) {
      // The next call tries again: what was missing may have been installed by then.
      this.#running = undefined;
      throw error;
    } finally {
      this.#step = undefined;
    }
  }

  /** Of several calls that find it dead, the first one starts the next server. */
  #replace(server: PrivateServer, site: Site): void {
    this.#siteOptions.logger.warn({ pid: server.pid }, "the private Jupyter Server has died; another is started");
    this.#running = undefined;
    void site.kernels.close();
    void server.close().catch(() => {});
  }

  #tell(line: string): void {
    this.#siteOptions.logger.info({}, line);
    this.#step = line;
    for (const listener of this.#listeners) listener(line);
  }
}

/** The server hears of a connection that was closed a moment later. */
const LAG_MS = 300;

/** Whether another process of ours is connected to the server, or something runs there that one has left. */
async function isInUse(rest: JupyterRest): Promise<boolean> {
  const isBusy = async (): Promise<boolean> => {
    const kernels = await rest.listKernels().catch(() => []);
    return kernels.some(({ connections, executionState }) => connections > 0 || executionState === "busy");
  };
  if (!(await isBusy())) return false;
  await delay(LAG_MS);
  return await isBusy();
}
