import { Redis } from "ioredis";

/** Calls `use` with a connection of its own, which is closed afterwards. */
export async function asAdmin<T>(url: string, use: (client: Redis) => Promise<T>): Promise<T> {
  const client = new Redis(url, { lazyConnect: true, connectionName: "test-admin" });
  // A test that stops the server breaks this connection as well.
  client.on("error", () => {});
  await client.connect();
  try {
    return await use(client);
  } finally {
    client.disconnect();
  }
}

/** The ids of the connections that stores have. */
export async function storeConnections(url: string): Promise<string[]> {
  const list = String(await asAdmin(url, (client) => client.call("CLIENT", "LIST")));
  const lines = list.split("\n").filter((line) => line.includes("name=claimcheck "));
  return lines.map((line) => /^id=(\d+)/.exec(line)?.[1] ?? "");
}

/** Ends the server's side of every connection of a store. */
export async function killConnections(url: string): Promise<void> {
  const ids = await storeConnections(url);
  await asAdmin(url, (client) => Promise.all(ids.map((id) => client.call("CLIENT", "KILL", "ID", id))));
}
