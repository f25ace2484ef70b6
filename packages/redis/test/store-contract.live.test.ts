import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { RedisStore } from "@claimcheck/redis";
import { type StoreHarness, storeContract } from "@claimcheck/store-contract";
import { inject, test } from "vitest";

const { url } = inject("redis");

// Large enough for ten megabytes to be written and read within it on a busy machine.
storeContract({ test, open: openFresh, ttlMs: 1500 });

async function openFresh(): Promise<StoreHarness> {
  const prefix = `contract_${randomBytes(8).toString("hex")}`;
  const opened: RedisStore[] = [];
  const open = async (): Promise<RedisStore> => {
    const store = new RedisStore({ url, prefix });
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
    close: () => Promise.all(opened.map((each) => each.close())),
  };
}
