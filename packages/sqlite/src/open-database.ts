/**
 * Opening the file. Whatever is wrong with it is found out before a byte of it, or beside it, is written: somebody
 * else's database that is named by mistake stays as it was.
 *
 * The connection's own database is an empty one in memory, and the file is attached to it. Detaching gives up the
 * file at once, its log copied and removed; closing a connection does so only when every prepared statement has
 * been finalized, which `@photostructure/sqlite` leaves to the garbage collector.
 */
import { accessSync, closeSync, constants, openSync, type Stats, statSync } from "node:fs";
import { dirname } from "node:path";
import { pathToFileURL } from "node:url";
import { TaskError, textOfThrown } from "@claimcheck/core";
import type { Database, Driver } from "./driver.js";
import { retryWhileBusy } from "./retry.js";
import { APPLICATION_ID, MIGRATIONS, SCHEMA_VERSION } from "./schema.js";

/** How long the driver itself waits for a lock; it blocks the event loop meanwhile. See `retryWhileBusy`. */
const BLOCKING_WAIT_MS = 50;

/** The write-ahead log shrinks to this size again after a large write. */
const LOG_SIZE_LIMIT_BYTES = 16 * 2 ** 20;

/** Negative: in KiB. Holds the index by task id of a million tasks; a small file takes what it needs. */
const CACHE_SIZE = -64 * 1024;

/**
 * Opens the file at `path`, an absolute path, and creates it if there is none. Its tables are brought up to date.
 *
 * @throws TaskError `store_unusable`
 */
export async function openDatabase(driver: Driver, path: string, busyTimeoutMs: number): Promise<Database> {
  const database = new driver.DatabaseSync(":memory:", { defensive: false });
  try {
    checkPlace(path);
    database.exec(`PRAGMA busy_timeout = ${BLOCKING_WAIT_MS}`);
    if (isEmpty(path)) createFile(path);
    else checkHeader(database, path);
    attach(database, path, "mode=rw", "store");
    await prepareFile(database, path, busyTimeoutMs);
    return database;
  } catch (error) {
    closeDatabase(database);
    throw asUnusable(path, error);
  }
}

/** What to tell whoever opens the file that failed with `error`. */
export function asUnusable(path: string, error: unknown): TaskError {
  if (error instanceof TaskError) return error;
  return unusable(path, `cannot be opened: ${textOfThrown(error)}.`, error);
}

export function closeDatabase(database: Database): void {
  try {
    detach(database, "store");
  } finally {
    database.close();
  }
}

async function prepareFile(database: Database, path: string, busyTimeoutMs: number): Promise<void> {
  await retryWhileBusy(() => migrate(database, path), busyTimeoutMs);
  // Not part of the migration: it can't be changed inside a transaction, and needs the file for itself. The file is not
  // mapped, whatever the driver was built with: a page of a mapped one that cannot be read (a disk that fails, a file that
  // something cut short) ends the process with SIGBUS, and mapping gains nothing but where twenty thousand tasks of a
  // million are polled in turn: 15 to 20 % of a read there.
  await retryWhileBusy(() => database.exec("PRAGMA store.journal_mode = WAL"), busyTimeoutMs);
  database.exec(`
    PRAGMA store.synchronous = FULL;
    PRAGMA store.mmap_size = 0;
    PRAGMA store.cache_size = ${CACHE_SIZE};
    PRAGMA store.journal_size_limit = ${LOG_SIZE_LIMIT_BYTES};
  `);
  // The first read puts the log and its index beside the file, where they stay: see `FilesInPlace`.
  await retryWhileBusy(() => database.exec("SELECT count(*) FROM store.sqlite_schema"), busyTimeoutMs);
}

/** Brings the tables up to date, under the write lock: of several processes that start at once, one does it. */
function migrate(database: Database, path: string): void {
  if (versionOf(database, path) === SCHEMA_VERSION) return;
  database.exec("BEGIN IMMEDIATE");
  try {
    for (const migration of MIGRATIONS.slice(versionOf(database, path))) database.exec(migration);
    database.exec(`
      PRAGMA store.application_id = ${APPLICATION_ID};
      PRAGMA store.user_version = ${SCHEMA_VERSION};
      COMMIT;
    `);
  } catch (error) {
    database.exec("ROLLBACK");
    throw error;
  }
}

/** The schema version; 0 for a file without tables. */
function versionOf(database: Database, path: string): number {
  const version = pragma(database, "store.user_version");
  if (version > SCHEMA_VERSION) throw newer(path, version);
  return version;
}

function checkPlace(path: string): void {
  const folder = dirname(path);
  if (!statOf(folder)?.isDirectory()) {
    throw unusable(path, `cannot be created: there is no folder ${folder}. Create it, or give another path.`);
  }
  const file = statOf(path);
  if (file?.isDirectory()) throw unusable(path, "is a folder; give the path of a file in it.");
  if (file !== undefined && !file.isFile()) throw unusable(path, "is not a regular file; give the path of one.");
  if (file !== undefined && !mayWrite(path)) {
    throw unusable(path, "is not readable and writable by this process; change its permissions, or give another path.");
  }
  if (!mayWrite(folder)) {
    throw unusable(path, `needs two files beside it, and this process may not write to ${folder}.`);
  }
}

function checkHeader(database: Database, path: string): void {
  const { applicationId, schemaVersion } = readHeader(database, path);
  if (applicationId !== APPLICATION_ID) {
    throw unusable(path, "is another application's database; give the path of a Claimcheck store, or of a new file.");
  }
  if (schemaVersion > SCHEMA_VERSION) throw newer(path, schemaVersion);
}

/**
 * Reads the header without a lock and without the two files that SQLite otherwise puts beside a database. Through
 * SQLite and not through `fs`, because closing any descriptor of a file drops the locks that this process holds on
 * it (https://sqlite.org/howtocorrupt.html, section 2.2), and another store may have it open.
 */
function readHeader(database: Database, path: string): { applicationId: number; schemaVersion: number } {
  try {
    // Lifts the check of the header against the file's size, which is off while the log is being copied.
    database.exec("PRAGMA writable_schema = ON");
    attach(database, path, "mode=ro&immutable=1", "header");
    return {
      applicationId: pragma(database, "header.application_id"),
      schemaVersion: pragma(database, "header.user_version"),
    };
  } catch (cause) {
    throw unusable(path, "is not an SQLite database; give the path of a Claimcheck store, or of a new file.", cause);
  } finally {
    detach(database, "header");
    database.exec("PRAGMA writable_schema = OFF");
  }
}

function attach(database: Database, path: string, options: string, name: string): void {
  const url = pathToFileURL(path);
  url.search = options;
  database.prepare(`ATTACH ? AS ${name}`).run(url.href);
}

function detach(database: Database, name: string): void {
  const attached = database.prepare("SELECT name FROM pragma_database_list").all() as { name: string }[];
  if (attached.some((one) => one.name === name)) database.exec(`DETACH ${name}`);
}

/** Readable for its owner alone: results are as confidential as what they were made from. */
function createFile(path: string): void {
  if (statOf(path) !== undefined) return;
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

function isEmpty(path: string): boolean {
  const { size } = statOf(path) ?? { size: 0 };
  return size === 0;
}

function statOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch (error) {
    // A part of the path is a file.
    if ((error as NodeJS.ErrnoException).code === "ENOTDIR") return undefined;
    throw error;
  }
}

function mayWrite(path: string): boolean {
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

function pragma(database: Database, name: string): number {
  return Object.values(database.prepare(`PRAGMA ${name}`).get() as Record<string, number>)[0] ?? 0;
}

function unusable(path: string, problem: string, cause?: unknown): TaskError {
  return new TaskError("store_unusable", `The SQLite file ${path} ${problem}`, { cause });
}

function newer(path: string, version: number): TaskError {
  const schemas = `its schema is ${version}, this version knows ${SCHEMA_VERSION}`;
  return unusable(path, `was written by a newer version (${schemas}); update @claimcheck/sqlite.`);
}
