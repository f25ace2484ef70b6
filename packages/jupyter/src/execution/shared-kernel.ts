/** One kernel, with the one connection and the one queue that all runs of this process share. */
import {
  type ConnectionEvent,
  type ConnectionOptions,
  connectKernel,
  type JupyterRest,
  type KernelConnection,
  KernelQueue,
  Recorder,
} from "../kernel/index.js";
import { DisplayRegistry } from "./display-registry.js";
import type { RunKernel } from "./engine.js";

/** @see the file comment */
export class SharedKernel implements RunKernel {
  readonly id: string;
  readonly connection: KernelConnection;
  readonly queue: KernelQueue;
  readonly recorder: Recorder;
  readonly displays: DisplayRegistry = new DisplayRegistry();
  #processes = 0;

  constructor(connection: KernelConnection, rest: JupyterRest) {
    this.id = connection.kernelId;
    this.connection = connection;
    this.queue = new KernelQueue({ connection, interrupt: () => rest.interruptKernel(connection.kernelId) });
    this.recorder = new Recorder(connection);
    connection.subscribe((event) => this.#onEvent(event));
  }

  /** Connects to a running kernel. */
  static async connect(options: ConnectionOptions): Promise<SharedKernel> {
    return new SharedKernel(await connectKernel(options), options.rest);
  }

  /** Grows whenever its process ends or is replaced: what ran before has left no variables. */
  get processes(): number {
    return this.#processes;
  }

  #onEvent(event: ConnectionEvent): void {
    if (event.type !== "kernel" && event.type !== "closed") return;
    this.#processes++;
    this.displays.clear();
  }
}
