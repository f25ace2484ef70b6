/** Brings a schema to the version that this code knows. Any number of processes may do so at once. */
import { TaskError } from "@claimcheck/core";
import type { Queryable } from "./driver.js";
import { MIGRATIONS, SCHEMA_VERSION } from "./migrations.js";
import type { Schema } from "./schema.js";

/**
 * Applies the steps that are missing, all of them or none.
 *
 * A schema that is up to date is only read, so a user without the right to create anything will do there. Otherwise
 * an advisory lock lets one process at a time in; the others find the work done.
 *
 * @throws TaskError `store_unusable` when a newer version of this package has been here
 */
export async function migrate(client: Queryable, schema: Schema): Promise<void> {
  if ((await appliedVersion(client, schema)) === SCHEMA_VERSION) return;
  await client.query({ text: "BEGIN" });
  try {
    await client.query({ text: `SELECT pg_advisory_xact_lock(${schema.lockId})` });
    await applyMissing(client, schema);
    await client.query({ text: "COMMIT" });
  } catch (error) {
    await client.query({ text: "ROLLBACK" }).catch(() => {});
    throw error;
  }
}

async function applyMissing(client: Queryable, schema: Schema): Promise<void> {
  const applied = await appliedVersion(client, schema);
  if (applied === undefined) await createSchema(client, schema);
  for (const { version, sql } of MIGRATIONS) {
    if (version <= (applied ?? 0)) continue;
    await client.query({ text: schema.fill(sql) });
    const record = "INSERT INTO {schema}.migrations (version) VALUES ($1)";
    await client.query({ text: schema.fill(record), values: [version] });
  }
}

// What exists is read from the catalogs' tables. The shorter to_regclass and to_regnamespace go by caches that a
// transaction does not bring up to date while it waits for an advisory lock.
const HAS_TABLE = "SELECT FROM pg_catalog.pg_tables WHERE schemaname = $1 AND tablename = 'migrations'";
const HAS_SCHEMA = "SELECT FROM pg_catalog.pg_namespace WHERE nspname = $1";

/** The newest step that has been applied; `undefined` when there is not even a list of them. */
async function appliedVersion(client: Queryable, schema: Schema): Promise<number | undefined> {
  const table = schema.fill("{schema}.migrations");
  const found = await client.query({ text: HAS_TABLE, values: [schema.name] });
  if (found.rows.length === 0) return undefined;
  const { rows } = await client.query({ text: `SELECT coalesce(max(version), 0)::integer AS version FROM ${table}` });
  const version = Number(rows[0]?.version);
  if (version > SCHEMA_VERSION) {
    throw new TaskError(
      "store_unusable",
      `The tables in the PostgreSQL schema ${schema.quoted} have version ${version}; this release of @claimcheck/postgres knows ${SCHEMA_VERSION}. Upgrade it, or use another schema.`,
    );
  }
  return version;
}

async function createSchema(client: Queryable, schema: Schema): Promise<void> {
  // CREATE SCHEMA IF NOT EXISTS asks for the right to create one even if it exists.
  const found = await client.query({ text: HAS_SCHEMA, values: [schema.name] });
  if (found.rows.length === 0) await client.query({ text: schema.fill("CREATE SCHEMA {schema}") });
  const list = "(version integer PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())";
  await client.query({ text: schema.fill(`CREATE TABLE {schema}.migrations ${list}`) });
}
