/** What is asked of a server before the store is used on it. Each refusal names the setting to change. */
import { TaskError } from "@claimcheck/core";
import type { Queryable } from "./driver.js";

/** Older ones get no fixes any more, and nobody tests this on them. */
const OLDEST_VERSION = 120_000;

const SETTINGS = `
  SELECT current_setting('server_version_num')::integer AS version,
    current_setting('server_encoding') AS encoding,
    current_setting('transaction_read_only') AS read_only,
    pg_is_in_recovery() AS standby`;

/** @throws TaskError `store_unusable` when the store would not work on the server, or not always */
export async function checkServer(client: Queryable): Promise<void> {
  const { rows } = await client.query({ text: SETTINGS });
  const fault = faultOf(rows[0] ?? {});
  if (fault !== undefined) throw new TaskError("store_unusable", fault);
}

function faultOf(settings: Readonly<Record<string, unknown>>): string | undefined {
  const { version, encoding, read_only: readOnly, standby } = settings;
  if (Number(version) < OLDEST_VERSION) return "The server is older than PostgreSQL 12; upgrade it.";
  if (encoding !== "UTF8") {
    return `The database's encoding is ${encoding}, which cannot hold every text; create it with ENCODING 'UTF8'.`;
  }
  if (standby === true) return "The server is a read-only standby; connect to the primary.";
  if (readOnly !== "off") {
    return "Transactions are read-only here; set default_transaction_read_only to off for this user and database.";
  }
  return undefined;
}
