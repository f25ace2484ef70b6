/** What several statements say of a record. */
import { PAYLOADS } from "@claimcheck/core";
import { columnOf } from "../rows.js";

/** The database's clock, epoch milliseconds: one clock decides expiry, whatever the hosts' clocks say. */
export const NOW = "(extract(epoch FROM statement_timestamp()) * 1000)::double precision";

/** It has not expired. */
export const LIVE: string = `(expires_at IS NULL OR expires_at > ${NOW})`;

/** Its columns. */
export const RECORD: string = ["head", ...PAYLOADS.map(columnOf)].join(", ");
