/**
 * The SQLite driver: the one built into Node, or `@photostructure/sqlite`, a port of it with the same API. Both are
 * used through the few members named here.
 */
import { TaskError } from "@claimcheck/core";

export type ColumnValue = string | number | null;

export interface Statement {
  run(...values: ColumnValue[]): { changes: number | bigint; lastInsertRowid: number | bigint };
  get(...values: ColumnValue[]): unknown;
  all(...values: ColumnValue[]): unknown[];
}

export interface Database {
  exec(sql: string): void;
  prepare(sql: string): Statement;
  close(): void;
}

export interface Driver {
  DatabaseSync: new (path: string, options?: { defensive?: boolean }) => Database;
}

/** Where a driver can come from; passed in by tests. */
export interface DriverSources {
  /** The version of the SQLite in this Node; `undefined` when it has none. */
  builtinVersion: string | undefined;
  builtin(): Driver | undefined;
  installed(): Promise<Driver>;
}

// A module name in a variable keeps the compiler from asking for the types of an optional dependency.
const PACKAGE = "@photostructure/sqlite";

const SOURCES: DriverSources = {
  builtinVersion: process.versions.sqlite,
  builtin: () => process.getBuiltinModule("node:sqlite") as Driver | undefined,
  installed: async () => (await import(PACKAGE)) as Driver,
};

/**
 * Before this version, a checkpoint that met another connection at the wrong moment could corrupt a file in WAL
 * mode (https://sqlite.org/wal.html). Two processes on one file is what this store is for, so an older SQLite
 * in Node gives way to the package.
 */
const SOUND_SINCE = [3, 51, 3];

/**
 * Loads the driver.
 *
 * @throws TaskError `store_unusable` when there is none, with what to do
 */
export async function loadDriver(sources: DriverSources = SOURCES): Promise<Driver> {
  if (sources.builtinVersion !== undefined && isSound(sources.builtinVersion)) {
    const driver = sources.builtin();
    if (driver !== undefined) return driver;
  }
  try {
    return await sources.installed();
  } catch (cause) {
    throw new TaskError("store_unusable", missingDriver(sources.builtinVersion), { cause });
  }
}

function missingDriver(builtinVersion: string | undefined): string {
  const has = builtinVersion === undefined ? "has no SQLite" : `has SQLite ${builtinVersion}`;
  return (
    `The SQLite store has no driver: Node ${process.version} ${has}, and ${PACKAGE} cannot be loaded. ` +
    `Run \`npm install ${PACKAGE}@1.2.1\`, or use a Node whose \`process.versions.sqlite\` is ${SOUND_SINCE.join(".")} or newer.`
  );
}

function isSound(version: string): boolean {
  const parts = version.split(".").map(Number);
  for (const [at, least] of SOUND_SINCE.entries()) {
    const part = parts[at] ?? 0;
    if (part !== least) return part > least;
  }
  return true;
}

/** The primary result code of a driver's error (https://sqlite.org/rescode.html). */
function resultCode(error: unknown): number | undefined {
  const code = (error as { errcode?: unknown } | null)?.errcode;
  return typeof code === "number" ? code & 0xff : undefined;
}

const SQLITE_BUSY = 5;

/** Whether another process held the lock for longer than the driver waits. */
export function isBusy(error: unknown): boolean {
  return resultCode(error) === SQLITE_BUSY;
}
