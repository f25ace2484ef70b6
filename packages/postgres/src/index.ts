// What this package promises. Adding a line here is a decision.
export type { PostgresClient, PostgresPool, Query, Queryable } from "./driver.js";
export type { PostgresStoreOptions } from "./postgres-store.js";
export { PostgresStore } from "./postgres-store.js";
export type { Parameter, Row } from "./rows.js";
