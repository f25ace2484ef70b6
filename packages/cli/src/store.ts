/**
 * From the text of `--store` to a store that has been opened. Whoever asked for a store that cannot be had is told
 * so before anything is served: with another store in its place, tasks would seem safe until the next restart.
 */
import { isAbsolute, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import {
  describeError,
  isTaskError,
  type Logger,
  MemoryStore,
  stderrLogger,
  TaskError,
  type TaskStore,
} from "@claimcheck/core";
import { resolve as resolveModule } from "import-meta-resolve";
import type { Host } from "./host.js";
import { unlessStuck } from "./unless-stuck.js";

/** What a store is asked for by. */
export type StoreSpec =
  | { kind: "memory" }
  | { kind: "sqlite"; file: string }
  | { kind: "postgres" | "redis"; url: string }
  | { kind: "module"; module: string; className: string };

/** What leads to no server: a module's URL, a file. */
const IS_LOCAL = /^(file|data|node|sqlite):/;

/** Where relative names begin. */
export type StorePlace = Pick<Host, "cwd" | "homeDir">;

const STORE_FORMS = "memory, sqlite:FILE, postgres://…, redis://…, valkey://… or MODULE:CLASS";

/**
 * Reads `memory`, `sqlite:FILE`, `postgres://…`, `redis://…`, `valkey://…` or `module:Class`; the last colon parts module and class, so that a module may be a URL.
 * @throws TaskError `store_unusable`
 */
export function parseStoreSpec(text: string): StoreSpec {
  if (text === "memory") return { kind: "memory" };
  if (text.startsWith("sqlite:")) return sqliteSpec(text);
  if (/^postgres(ql)?:\/\//.test(text)) return { kind: "postgres", url: text };
  // Valkey speaks the same protocol; hosting services give its address under its own name.
  if (/^(redis|valkey)s?:\/\//.test(text)) return { kind: "redis", url: text.replace(/^valkey/, "redis") };
  // Some other database: what Node says when it is asked to import one would quote its password.
  if (/^[\w+.-]+:\/\//.test(text) && !IS_LOCAL.test(text)) throw unusable(text, `that is none of ${STORE_FORMS}`);
  const colon = text.lastIndexOf(":");
  const [module, className] = [text.slice(0, colon), text.slice(colon + 1)];
  if (colon < 1 || !/^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(className)) {
    throw unusable(text, `that is none of ${STORE_FORMS}`);
  }
  return { kind: "module", module, className };
}

function sqliteSpec(text: string): StoreSpec {
  const file = text.slice("sqlite:".length);
  if (file === "") throw unusable(text, "it names no file, as in sqlite:tasks.db");
  // SQLite's own name for a database that is gone with its process: the opposite of what a file is wanted for.
  if (file === ":memory:") throw unusable(text, 'a store in memory is asked for as "memory"');
  return { kind: "sqlite", file };
}

/** What the store is called wherever the command is started from, and by whom: with whichever password, it is the same one. */
export function storeName(text: string, place: StorePlace): string {
  const spec = parseStoreSpec(text);
  if (spec.kind === "sqlite") return `sqlite:${filePath(spec.file, place)}`;
  if (spec.kind === "module") return `${modulePath(spec.module, place) ?? spec.module}:${spec.className}`;
  return "url" in spec ? withoutCredentials(spec.url) : text;
}

/** As much of a URL as names the store. */
function withoutCredentials(text: string): string {
  if (!URL.canParse(text)) return text;
  const url = new URL(text);
  url.username = "";
  url.password = "";
  for (const name of ["user", "username", "password"]) url.searchParams.delete(name);
  return url.href;
}

/**
 * Builds the store and opens it.
 * @param logger of a store on a server, for what it has to say later
 * @throws TaskError `store_unusable`, with what was asked for and the cause
 */
export async function openStore(text: string, place: StorePlace, logger: Logger = stderrLogger): Promise<TaskStore> {
  const spec = parseStoreSpec(text);
  return await unlessStuck(buildAndOpen(spec, text, { place, logger }), () =>
    unusable(text, "it does not open: nothing that it could be waiting for is left"),
  );
}

async function buildAndOpen(spec: StoreSpec, text: string, surroundings: Surroundings): Promise<TaskStore> {
  const store = await buildStore(spec, text, surroundings);
  try {
    await store.open?.();
  } catch (cause) {
    await store.close?.().catch(() => {});
    // Our own stores say themselves what is wrong and what would be right.
    const why = isTaskError(cause) ? cause.message : `it cannot be opened: ${reason(cause)}`;
    throw unusable(text, why, cause);
  }
  return store;
}

/** Where, and to whom it talks. */
interface Surroundings {
  place: StorePlace;
  logger: Logger;
}

async function buildStore(spec: StoreSpec, text: string, surroundings: Surroundings): Promise<TaskStore> {
  if (spec.kind === "memory") return new MemoryStore();
  if (spec.kind === "module") return await moduleStore(spec, text, surroundings.place);
  try {
    return await ownStore(spec, surroundings);
  } catch (cause) {
    throw unusable(text, reason(cause), cause);
  }
}

/** Loaded when asked for: nobody waits for the driver of a store that another one uses. */
async function ownStore(
  spec: Extract<StoreSpec, { kind: "sqlite" | "postgres" | "redis" }>,
  { place, logger }: Surroundings,
): Promise<TaskStore> {
  if (spec.kind === "sqlite") {
    const { SqliteStore } = await import("@claimcheck/sqlite");
    return new SqliteStore({ path: filePath(spec.file, place) });
  }
  if (spec.kind === "redis") {
    const { RedisStore } = await import("@claimcheck/redis");
    return new RedisStore({ url: spec.url, logger });
  }
  const { PostgresStore } = await import("@claimcheck/postgres");
  return new PostgresStore({ url: spec.url, logger });
}

/** A client's configuration has no shell that would put the home folder in. */
function filePath(file: string, place: StorePlace): string {
  return file.startsWith("~/") ? join(place.homeDir, file.slice(2)) : resolve(place.cwd, file);
}

type ModuleSpec = Extract<StoreSpec, { kind: "module" }>;

async function moduleStore(spec: ModuleSpec, text: string, place: StorePlace): Promise<TaskStore> {
  const module = await importModule(spec, text, place);
  const Class = exportOf(module, spec.className);
  if (typeof Class !== "function") {
    const names = Object.keys(module).sort().join(", ") || "nothing";
    throw unusable(text, `the module exports no class ${spec.className}; it exports ${names}`);
  }
  const store = construct(Class as new () => unknown, text);
  const missing = STORE_METHODS.filter((name) => typeof (store as Record<string, unknown>)[name] !== "function");
  if (missing.length > 0) throw unusable(text, `${spec.className} is no task store: it lacks ${missing.join(", ")}`);
  return store as TaskStore;
}

const STORE_METHODS = ["create", "get", "list", "update", "findByKey"] as const;

async function importModule(spec: ModuleSpec, text: string, place: StorePlace): Promise<Record<string, unknown>> {
  try {
    return await import(moduleUrl(spec.module, place));
  } catch (cause) {
    throw unusable(text, `the module cannot be imported: ${reason(cause)}`, cause);
  }
}

/** Paths and package names as the folder that the command runs in sees them, not as this package does. */
function moduleUrl(module: string, place: StorePlace): string {
  if (/^(file|data|node):/.test(module)) return module;
  const path = modulePath(module, place);
  if (path !== undefined) return pathToFileURL(path).href;
  return resolveModule(module, pathToFileURL(join(place.cwd, "package.json")).href);
}

/** `undefined` for a module that is not named by its path. */
function modulePath(module: string, place: StorePlace): string | undefined {
  const isPath = /^\.{1,2}\//.test(module) || module.startsWith("~/") || isAbsolute(module);
  return isPath ? filePath(module, place) : undefined;
}

/** Own members only, so that `module:constructor` names nothing; a CommonJS module has its names under `default` too. */
function exportOf(module: Record<string, unknown>, name: string): unknown {
  if (Object.hasOwn(module, name)) return module[name];
  const inner = module.default;
  return typeof inner === "object" && inner !== null && Object.hasOwn(inner, name)
    ? (inner as Record<string, unknown>)[name]
    : undefined;
}

function construct(Class: new () => unknown, text: string): object {
  try {
    return new Class() as object;
  } catch (cause) {
    throw unusable(text, `it cannot be built: ${reason(cause)}`, cause);
  }
}

function unusable(text: string, why: string, cause?: unknown): TaskError {
  return new TaskError("store_unusable", `the store ${withoutSecrets(text)} cannot be used: ${why}`, { cause });
}

/**
 * What was asked for, fit to be shown: of what may be a database's address, however wrong, neither who goes there nor what the
 * query says.
 */
function withoutSecrets(text: string): string {
  if (IS_LOCAL.test(text)) return text;
  // The scheme, then anything up to the last @: an unescaped password may hold every character.
  const shown = text.replace(/^([\w+.-]+:\/*).*@/s, "$1***@");
  return shown.includes("@") || /^[\w+.-]+:\/\//.test(shown) ? shown.replace(/\?.*/s, "?***") : shown;
}

function reason(cause: unknown): string {
  return cause instanceof Error ? cause.message : describeError(cause);
}
