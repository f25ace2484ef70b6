import { Client } from "pg";

/** Calls `use` with a connection of its own, which is closed afterwards. */
export async function asAdmin<T>(url: string, use: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: url, application_name: "test admin" });
  // A test that stops the server breaks this connection as well.
  client.on("error", () => {});
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}

/** Ends the server's side of every connection of a store. */
export async function killConnections(url: string): Promise<void> {
  const kill = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'claimcheck'";
  await asAdmin(url, (client) => client.query(kill));
}

/** How many connections stores have. */
export async function countConnections(url: string): Promise<number> {
  const count = "SELECT count(*)::int AS count FROM pg_stat_activity WHERE application_name = 'claimcheck'";
  return asAdmin(url, async (client) => (await client.query(count)).rows[0].count);
}
