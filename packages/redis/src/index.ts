// What this package promises. Adding a line here is a decision.
export type { RedisClient } from "./client.js";
export type { RedisStoreOptions } from "./redis-store.js";
export { RedisStore } from "./redis-store.js";
