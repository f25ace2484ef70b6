/** A line between a client and a server that a test can cut, hold up, or make swallow everything without a sound. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export interface TcpProxy {
  port: number;
  /** Resets every connection. */
  cut(): void;
  /** From now on, bytes of these directions vanish, on connections that are there and on new ones. */
  swallow(directions: { toServer?: boolean; toClient?: boolean }): void;
  /** From now on, bytes arrive this much later, in both directions; `Infinity`: not before they are held up no more. */
  holdUp(delayMs: number): void;
  /** Resolves when the server has next answered something; `swallow` decides whether the client gets it. */
  nextAnswer(): Promise<void>;
  /** How many connections there have been. */
  readonly accepted: number;
  close(): Promise<void>;
}

export async function startTcpProxy(targetPort: number): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  const waiting = new Set<() => void>();
  const delays = new Set<Delay>();
  let swallowing: { toServer?: boolean; toClient?: boolean } = {};
  let delayMs = 0;
  let accepted = 0;
  const delayed = (write: (chunk: Buffer) => void, socket: Socket): Delay => {
    const delay = new Delay(write);
    delay.set(delayMs);
    delays.add(delay);
    socket.on("close", () => {
      delay.end();
      delays.delete(delay);
    });
    return delay;
  };
  const server = createServer((client) => {
    accepted += 1;
    const upstream = connect(targetPort, "127.0.0.1");
    pair(sockets, client, upstream, resetting);
    const toServer = delayed((chunk) => upstream.write(chunk), upstream);
    const toClient = delayed((chunk) => client.write(chunk), client);
    client.on("data", (chunk) => swallowing.toServer !== true && toServer.push(chunk));
    upstream.on("data", (chunk) => {
      if (swallowing.toClient !== true) toClient.push(chunk);
      for (const wake of waiting) wake();
      waiting.clear();
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const resetting = new WeakSet<Socket>();
  const cut = (): void => {
    for (const socket of sockets) {
      if (resetting.has(socket)) continue;
      resetting.add(socket);
      socket.resetAndDestroy();
    }
  };
  return {
    port: (server.address() as AddressInfo).port,
    cut,
    swallow: (directions) => {
      swallowing = directions;
    },
    holdUp: (ms) => {
      delayMs = ms;
      for (const delay of delays) delay.set(ms);
    },
    nextAnswer: () => new Promise((resolve) => waiting.add(resolve)),
    get accepted() {
      return accepted;
    },
    close: async () => {
      cut();
      server.close();
      await once(server, "close");
    },
  };
}

/** A line to where `url` leads, and the URL that leads there over it. */
export async function proxyTo(url: string): Promise<{ proxy: TcpProxy; url: string }> {
  const { port } = new URL(url);
  const proxy = await startTcpProxy(Number(port));
  return { proxy, url: url.replace(`:${port}`, `:${proxy.port}`) };
}

/** Bytes of one direction on their way, in order. */
class Delay {
  readonly #write: (chunk: Buffer) => void;
  readonly #queue: { chunk: Buffer; since: number }[] = [];
  #delayMs = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(write: (chunk: Buffer) => void) {
    this.#write = write;
  }

  push(chunk: Buffer): void {
    if (this.#delayMs === 0) {
      this.#write(chunk);
      return;
    }
    this.#queue.push({ chunk, since: performance.now() });
    this.#schedule();
  }

  /** What is on its way already is delayed as it is from now on. */
  set(delayMs: number): void {
    this.#delayMs = delayMs;
    this.#schedule();
  }

  end(): void {
    this.#queue.length = 0;
    clearTimeout(this.#timer);
  }

  #schedule(): void {
    clearTimeout(this.#timer);
    const now = performance.now();
    for (let next = this.#queue[0]; next !== undefined && next.since + this.#delayMs <= now; next = this.#queue[0]) {
      this.#queue.shift();
      this.#write(next.chunk);
    }
    const next = this.#queue[0];
    if (next === undefined || this.#delayMs === Number.POSITIVE_INFINITY) return;
    this.#timer = setTimeout(() => this.#schedule(), Math.max(1, next.since + this.#delayMs - now));
  }
}

/** What ends one side ends the other, except one that is being reset: destroyed meanwhile, its handle would never be closed. */
function pair(sockets: Set<Socket>, client: Socket, upstream: Socket, resetting: WeakSet<Socket>): void {
  for (const [socket, other] of [
    [client, upstream],
    [upstream, client],
  ] as const) {
    sockets.add(socket);
    socket.setNoDelay(true);
    const endOther = (): void => {
      if (!resetting.has(other)) other.destroy();
    };
    socket.on("error", endOther);
    socket.on("close", () => {
      sockets.delete(socket);
      endOther();
    });
  }
}
