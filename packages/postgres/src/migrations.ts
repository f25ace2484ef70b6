/**
 * The tables, step by step. A step that has been released never changes; what is to be different becomes a new step.
 *
 * Numbers of JavaScript are `double precision`, which is what they are. Texts that callers choose (owner, key, task
 * id) are stored as their index keys, and whatever else a record holds as JSON text: JSON escapes NUL and lone
 * surrogates, which `text` and `jsonb` refuse, and text keeps what `jsonb` would normalize.
 */
export interface Migration {
  readonly version: number;
  readonly sql: string;
}

export const MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    // Payloads have a table of their own, so that listings and changes of status touch none. It has no foreign key:
    // both rows are always written by one statement, and the check would lock the task's row once more.
    // The fill factor leaves room for changed rows on their page, which then touch no index.
    sql: `
      CREATE TABLE {schema}.tasks (
        task_id text COLLATE "C" NOT NULL,
        owner text COLLATE "C" NOT NULL,
        idempotency_key text COLLATE "C",
        created_at double precision NOT NULL,
        ttl_ms double precision NOT NULL,
        version double precision NOT NULL,
        status text NOT NULL,
        status_message text,
        last_updated_at double precision NOT NULL,
        finished_at double precision,
        expires_at double precision,
        outcome_kind text,
        progress text,
        questions text NOT NULL,
        attempt text NOT NULL,
        cancellation text,
        fixed text NOT NULL,
        CONSTRAINT tasks_pkey PRIMARY KEY (task_id)
      ) WITH (fillfactor = 70);
      CREATE UNIQUE INDEX tasks_key ON {schema}.tasks (owner, idempotency_key) WHERE idempotency_key IS NOT NULL;
      CREATE INDEX tasks_of_owner ON {schema}.tasks (owner, created_at, task_id);
      CREATE INDEX tasks_of_everybody ON {schema}.tasks (created_at, task_id);
      CREATE INDEX tasks_unfinished ON {schema}.tasks (created_at, task_id) WHERE finished_at IS NULL;
      CREATE INDEX tasks_expiry ON {schema}.tasks (expires_at) WHERE expires_at IS NOT NULL;
      CREATE TABLE {schema}.payloads (
        task_id text COLLATE "C" NOT NULL,
        arguments text NOT NULL,
        outcome text,
        partial_output text,
        checkpoint text,
        CONSTRAINT payloads_pkey PRIMARY KEY (task_id)
      );
    `,
  },
];

/** What this code writes and reads. */
export const SCHEMA_VERSION: number = MIGRATIONS.at(-1)?.version ?? 0;
