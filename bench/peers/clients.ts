/** The clients beneath the stores, bare: dependencies of the stores' packages, and resolved from there. */
import { createRequire } from "node:module";

const requireOf = (name: string): NodeJS.Require => createRequire(import.meta.resolve(name));

export function loadPg(): typeof import("pg") {
  return requireOf("@claimcheck/postgres")("pg");
}

export function loadIoredis(): typeof import("ioredis") {
  return requireOf("@claimcheck/redis")("ioredis");
}

interface Statement {
  run(...values: unknown[]): { changes: number | bigint };
  all(...values: unknown[]): unknown[];
}

export interface SqliteDriver {
  DatabaseSync: new (
    path: string,
  ) => {
    exec(sql: string): void;
    prepare(sql: string): Statement;
    close(): void;
  };
}

/** The one that the store takes as well: what is in Node, or the package with the same API. */
export async function loadSqlite(): Promise<SqliteDriver> {
  const builtin = process.getBuiltinModule("node:sqlite") as SqliteDriver | undefined;
  return builtin ?? requireOf("@claimcheck/sqlite")("@photostructure/sqlite");
}
