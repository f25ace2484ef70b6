import { RedisStore } from "@claimcheck/redis";
import { inject } from "vitest";
import { serverStoreContract } from "../../../test/fixtures/server-stores.js";

serverStoreContract({
  url: inject("redis").url,
  newStore: (url, prefix, timeoutMs) =>
    new RedisStore({ url, prefix, commandTimeoutMs: timeoutMs, connectTimeoutMs: timeoutMs }),
});
