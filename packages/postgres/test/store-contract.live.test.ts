import { PostgresStore } from "@claimcheck/postgres";
import { inject } from "vitest";
import { serverStoreContract } from "../../../test/fixtures/server-stores.js";
import { asAdmin } from "./admin.js";

const { url } = inject("postgres");

serverStoreContract({
  url,
  newStore: (at, schema, timeoutMs) =>
    new PostgresStore({ url: at, schema, poolSize: 4, queryTimeoutMs: timeoutMs, connectTimeoutMs: timeoutMs }),
  remove: async (schema) => {
    await asAdmin(url, (client) => client.query(`DROP SCHEMA ${schema} CASCADE`));
  },
});
