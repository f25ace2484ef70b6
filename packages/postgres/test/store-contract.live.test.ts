import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { PostgresStore, type PostgresStoreOptions } from "@claimcheck/postgres";
import { outageCases, type StoreHarness, storeContract } from "@claimcheck/store-contract";
import { Client } from "pg";
import { inject, test } from "vitest";
import { startTcpProxy } from "../../../test/services/tcp-proxy.js";

const { url } = inject("postgres");

// Each case waits for most of its time, and has a store of its own. Long enough for what others do meanwhile.
const each = { test: test.concurrent, ttlMs: 4000, signalWithinMs: 20_000 };
storeContract({ ...each, open: () => openFresh(url), without: ["outage"] });
storeContract({ ...each, open: openBreakable, groups: [outageCases] });

/** On a line that can be cut. Nothing large goes over it, so that it need not be waited for long. */
async function openBreakable(): Promise<StoreHarness> {
  const proxy = await startTcpProxy(Number(new URL(url).port));
  const breakable = new URL(url);
  breakable.port = String(proxy.port);
  const harness = await openFresh(breakable.href, { queryTimeoutMs: 1500, connectTimeoutMs: 1500 });
  const swallow = (isOut: boolean) => (): void => {
    proxy.swallow({ toServer: isOut, toClient: isOut });
    proxy.cut();
  };
  const close = async (): Promise<void> => {
    await harness.close();
    await proxy.close();
  };
  return { ...harness, outage: { begin: swallow(true), end: swallow(false) }, close };
}

async function openFresh(url: string, options: PostgresStoreOptions = {}): Promise<StoreHarness> {
  const schema = `contract_${randomBytes(8).toString("hex")}`;
  const opened: PostgresStore[] = [];
  const open = async (): Promise<PostgresStore> => {
    const store = new PostgresStore({ url, schema, poolSize: 4, ...options });
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
