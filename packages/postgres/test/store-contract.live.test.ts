import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { PostgresStore } from "@claimcheck/postgres";
import { type StoreHarness, storeContract } from "@claimcheck/store-contract";
import { Client } from "pg";
import { inject, test } from "vitest";

const { url } = inject("postgres");

// Large enough for ten megabytes to be written and read within it on a busy machine.
storeContract({ test, open: openFresh, ttlMs: 1500 });

async function openFresh(): Promise<StoreHarness> {
  const schema = `contract_${randomBytes(8).toString("hex")}`;
  const opened: PostgresStore[] = [];
  const open = async (): Promise<PostgresStore> => {
    const store = new PostgresStore({ url, schema, poolSize: 4 });
    opened.push(store);
    await store.open();
    return store;
  };
  const store = await open();
  return {
    store,
    now: async () => Number(await opened.at(-1)?.now()),
    advance: sleep,
    openAnother: open,
    reopen: async () => {
      await store.close();
      return open();
    },
    close: async () => {
      await Promise.all(opened.map((each) => each.close()));
      await dropSchema(schema);
    },
  };
}

async function dropSchema(schema: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(`DROP SCHEMA ${schema} CASCADE`);
  } finally {
    await client.end();
  }
}
