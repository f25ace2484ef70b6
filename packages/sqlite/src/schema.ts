/**
 * The tables. A task's row holds what a listing shows, as one JSON text (`head`), and its small payloads. A payload
 * of some size is a row of its own, so that listing and changing a task never read past or rewrite a megabyte of
 * output. Migrations are numbered by their place and never change once published. The file is attached as `store`;
 * see `open-database.ts`.
 */

/** "clam": marks a file as ours (https://sqlite.org/fileformat.html, offset 68). */
export const APPLICATION_ID = 0x63_6c_61_6d;

/**
 * `seq` numbers the tasks of this file. Bit `n` of `apart` says that payload `n` is row `4 * seq + n` of `payloads`,
 * and not in the task's own row. New rows of both tables go to the end, and need no index of their own.
 * The listings' indexes go from old to new, though they are read the other way: what comes last is put in for the least.
 * Instants are REAL because a ttl may reach beyond what an INTEGER column would take from a JavaScript number.
 */
const TASKS_AND_PAYLOADS = `
  CREATE TABLE store.tasks (
    seq INTEGER PRIMARY KEY,
    task_id TEXT NOT NULL UNIQUE,
    owner TEXT NOT NULL,
    idempotency_key TEXT,
    created_at REAL NOT NULL,
    expires_at REAL,
    head TEXT NOT NULL,
    arguments TEXT,
    outcome TEXT,
    partial_output TEXT,
    checkpoint TEXT,
    apart INTEGER NOT NULL
  ) STRICT;

  CREATE TABLE store.payloads (id INTEGER PRIMARY KEY, json TEXT NOT NULL) STRICT;

  CREATE UNIQUE INDEX store.tasks_key ON tasks (owner, idempotency_key) WHERE idempotency_key IS NOT NULL;
  CREATE INDEX store.tasks_newest_of_owner ON tasks (owner, created_at, task_id);
  CREATE INDEX store.tasks_newest ON tasks (created_at, task_id);
  CREATE INDEX store.tasks_unfinished ON tasks (created_at, task_id) WHERE expires_at IS NULL;
  CREATE INDEX store.tasks_expiry ON tasks (expires_at) WHERE expires_at IS NOT NULL;

  CREATE TRIGGER store.payloads_go_with_their_task AFTER DELETE ON tasks BEGIN
    DELETE FROM payloads WHERE id BETWEEN 4 * old.seq AND 4 * old.seq + 3;
  END;
`;

/** The n-th (from 1) leads from schema version n - 1 to n. */
export const MIGRATIONS: readonly string[] = [TASKS_AND_PAYLOADS];

/** What a file that is up to date has as its `user_version`. */
export const SCHEMA_VERSION: number = MIGRATIONS.length;
