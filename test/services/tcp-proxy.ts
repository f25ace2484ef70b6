/** A line between a client and a server that a test can cut, or make swallow everything without a sound. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export interface TcpProxy {
  port: number;
  /** Resets every connection. */
  cut(): void;
  /** From now on, bytes of these directions vanish, on connections that are there and on new ones. */
  swallow(directions: { toServer?: boolean; toClient?: boolean }): void;
  /** Resolves when the server has next answered something; `swallow` decides whether the client gets it. */
  nextAnswer(): Promise<void>;
  /** How many connections there have been. */
  readonly accepted: number;
  close(): Promise<void>;
}

export async function startTcpProxy(targetPort: number): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  const waiting = new Set<() => void>();
  let swallowing: { toServer?: boolean; toClient?: boolean } = {};
  let accepted = 0;
  const server = createServer((client) => {
    accepted += 1;
    const upstream = connect(targetPort, "127.0.0.1");
    pair(sockets, client, upstream);
    client.on("data", (chunk) => swallowing.toServer !== true && upstream.write(chunk));
    upstream.on("data", (chunk) => {
      if (swallowing.toClient !== true) client.write(chunk);
      for (const wake of waiting) wake();
      waiting.clear();
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const cut = (): void => {
    for (const socket of sockets) socket.resetAndDestroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    cut,
    swallow: (directions) => {
      swallowing = directions;
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

function pair(sockets: Set<Socket>, client: Socket, upstream: Socket): void {
  for (const [socket, other] of [
    [client, upstream],
    [upstream, client],
  ] as const) {
    sockets.add(socket);
    socket.setNoDelay(true);
    socket.on("error", () => other.destroy());
    socket.on("close", () => {
      sockets.delete(socket);
      other.destroy();
    });
  }
}
