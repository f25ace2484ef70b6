/**
 * The tables, step by step. A step that has been released never changes; what is to be different becomes a new step.
 *
 * Numbers of JavaScript are `double precision`, which is what they are. Texts that callers choose (owner, key, task
 * id) are stored as their index keys, and the record as JSON text: JSON escapes NUL and lone surrogates, which `text`
 * and `jsonb` refuse, and text keeps what `jsonb` would normalize.
 */
export interface Migration {
  readonly version: number;
  readonly sql: string;
}

export const MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    // A payload of some size is kept apart by PostgreSQL itself: what makes a row longer than the target goes to the
    // table's TOAST, where a listing never looks and an update that does not change it leaves it. A table of our own
    // for payloads would do the same, at the price of a second row for every small task. The head stays in the row.
    // The fill factor leaves room for changed rows on their page, which then touch no index.
    sql: `
      CREATE TABLE {schema}.tasks (
        task_id text COLLATE "C" NOT NULL,
        owner text COLLATE "C" NOT NULL,
        idempotency_key text COLLATE "C",
        created_at double precision NOT NULL,
        expires_at double precision,
        version double precision NOT NULL,
        status text NOT NULL,
        head text NOT NULL,
        arguments text NOT NULL,
        outcome text,
        partial_output text,
        checkpoint text,
        CONSTRAINT tasks_pkey PRIMARY KEY (task_id)
      ) WITH (fillfactor = 70, toast_tuple_target = 1024);
      ALTER TABLE {schema}.tasks ALTER COLUMN head SET STORAGE MAIN;
      CREATE UNIQUE INDEX tasks_key ON {schema}.tasks (owner, idempotency_key) WHERE idempotency_key IS NOT NULL;
      CREATE INDEX tasks_of_owner ON {schema}.tasks (owner, created_at, task_id);
      CREATE INDEX tasks_of_everybody ON {schema}.tasks (created_at, task_id);
      CREATE INDEX tasks_unfinished ON {schema}.tasks (created_at, task_id) WHERE expires_at IS NULL;
      CREATE INDEX tasks_expiry ON {schema}.tasks (expires_at) WHERE expires_at IS NOT NULL;
    `,
  },
];

/** What this code writes and reads. */
export const SCHEMA_VERSION: number = MIGRATIONS.at(-1)?.version ?? 0;
