/**
 * Fills tables with finished tasks by the databases' own bulk means: the row of one real task, copied under other ids,
 * owners and instants. Answers a sample of the ids, spread over all ages.
 */
import { loadPg, loadSqlite } from "./clients.js";
import { smallTask, writesOf } from "./records.js";
import type { StoreBench } from "./stores.js";

/** Rows a statement. */
const CHUNK = 100_000;
/** As many as there are in all among few: among many, as many are asked for. */
const SAMPLE = 1000;

/** The task that all the others are copies of: it stands in the store, finished. */
async function template({ store }: StoreBench, firstAt: number) {
  const { task, completion } = writesOf(smallTask("owner-0", firstAt));
  await store.create(task);
  await store.update(task.taskId, 1, completion);
  return task;
}

/** Each task is a second younger than the one before; the newest is of now. */
const firstInstant = (count: number): number => Date.now() - count * 10;

export async function fillSqlite(bench: StoreBench, count: number, owners: number): Promise<readonly string[]> {
  const firstAt = firstInstant(count);
  const { taskId } = await template(bench, firstAt);
  const { DatabaseSync } = await loadSqlite();
  const database = new DatabaseSync(bench.url);
  try {
    database.exec("PRAGMA synchronous = OFF; PRAGMA cache_size = -200000");
    const copy = database.prepare(`
      WITH RECURSIVE
        nth (n) AS (SELECT ?1 UNION ALL SELECT n + 1 FROM nth WHERE n + 1 < ?2),
        made AS MATERIALIZED (
          SELECT n, 'tsk_' || lower(substr(hex(randomblob(11)), 1, 22)) AS id, 'owner-' || (n % ?3) AS owner FROM nth
        )
      INSERT INTO tasks
        (task_id, owner, idempotency_key, created_at, expires_at, head, arguments, outcome, partial_output, checkpoint, apart)
      SELECT id, made.owner, NULL, ?4 + n * 10, expires_at + n * 10,
        replace(replace(replace(head, task_id, id), 'owner-0', made.owner), CAST(CAST(?4 AS INTEGER) AS TEXT), CAST(CAST(?4 + n * 10 AS INTEGER) AS TEXT)),
        arguments, outcome, partial_output, checkpoint, apart
      FROM made, tasks WHERE task_id = ?5`);
    for (let from = 1; from < count; from += CHUNK) {
      copy.run(from, Math.min(from + CHUNK, count), owners, firstAt, taskId);
    }
    database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    const step = Math.max(1, Math.floor(count / SAMPLE));
    const rows = database.prepare("SELECT task_id FROM tasks WHERE seq % ? = 0").all(step) as { task_id: string }[];
    return rows.map((row) => row.task_id);
  } finally {
    database.close();
  }
}

export async function fillPostgres(bench: StoreBench, count: number, owners: number): Promise<readonly string[]> {
  const firstAt = firstInstant(count);
  const { taskId } = await template(bench, firstAt);
  const { Client } = loadPg();
  const client = new Client({ connectionString: bench.url });
  await client.connect();
  try {
    await client.query(
      "SET synchronous_commit = off; SET search_path = claimcheck; SET maintenance_work_mem = '256MB'",
    );
    const copy = `
      INSERT INTO tasks
        (task_id, owner, idempotency_key, created_at, expires_at, version, status, head, arguments, outcome, partial_output, checkpoint)
      SELECT id, made.owner, NULL, $4::float8 + n * 10, expires_at + n * 10, version, status,
        replace(replace(replace(head, task_id, id), 'owner-0', made.owner), ($4::float8)::bigint::text, ($4::float8 + n * 10)::bigint::text),
        arguments, outcome, partial_output, checkpoint
      FROM tasks, (
        SELECT n, 'tsk_' || substr(md5(random()::text || n), 1, 22) AS id, 'owner-' || (n % $3::int) AS owner
        FROM generate_series($1::int, $2::int - 1) AS n OFFSET 0
      ) AS made
      WHERE task_id = $5`;
    for (let from = 1; from < count; from += CHUNK) {
      await client.query(copy, [from, Math.min(from + CHUNK, count), owners, firstAt, taskId]);
    }
    await client.query("VACUUM ANALYZE tasks");
    await client.query("CHECKPOINT");
    const step = Math.max(1, Math.floor(count / SAMPLE));
    const sample =
      "SELECT task_id FROM (SELECT task_id, row_number() OVER (ORDER BY created_at) AS n FROM tasks) AS numbered WHERE n % $1 = 0";
    const { rows } = await client.query<{ task_id: string }>(sample, [step]);
    return rows.map((row) => row.task_id);
  } finally {
    await client.end();
  }
}
