import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { MemoryStore } from "@claimcheck/core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { unusableAs } from "../../../test/fixtures/refusal.js";
import { openStore, parseStoreSpec } from "../src/store.js";

let cwd: string;

beforeAll(() => {
  cwd = mkdtempSync(join(tmpdir(), "claimcheck-store-"));
  writeFileSync(join(cwd, "stores.mjs"), STORES);
  writeFileSync(join(cwd, "stores.cjs"), `module.exports = { Plain: class { ${METHODS} } };`);
  writeFileSync(join(cwd, "broken.mjs"), 'import "no-such-driver"; export class Store {}');
  writeFileSync(join(cwd, "throwing.mjs"), 'throw new Error("no licence"); export class Store {}');
  const installed = join(cwd, "node_modules/esm-store");
  mkdirSync(installed, { recursive: true });
  const manifest = { name: "esm-store", type: "module", exports: { import: "./index.js" } };
  writeFileSync(join(installed, "package.json"), JSON.stringify(manifest));
  writeFileSync(join(installed, "index.js"), `export class Store { ${METHODS} }`);
});

afterAll(() => rmSync(cwd, { recursive: true, force: true }));

const METHODS = "create() {} get() {} list() {} update() {} findByKey() {}";

const STORES = `
  export class Plain { ${METHODS} }
  export class Opening extends Plain { opened = 0; async open() { this.opened += 1; } }
  export class Refusing extends Plain {
    static closed = 0;
    async open() { throw new Error("connect ECONNREFUSED 10.0.0.7:6379"); }
    async close() { Refusing.closed += 1; throw new Error("never opened"); }
  }
  export class Throwing extends Plain { constructor() { super(); throw new Error("STORE_URL is not set"); } }
  export class Half { create() {} get() {} list() {} }
  export const notAClass = {};
  export const arrow = () => ({});
`;

const open = (spec: string) => openStore(spec, { cwd, homeDir: cwd });

/** The message that the start fails with. */
const refusal = (spec: string) => unusableAs(open(spec));

describe("what a store is asked for by", () => {
  test.each([
    ["memory", { kind: "memory" }],
    ["sqlite:tasks.db", { kind: "sqlite", file: "tasks.db" }],
    ["sqlite:/var/lib/a:b.db", { kind: "sqlite", file: "/var/lib/a:b.db" }],
    ["postgres://ann@db:5432/tasks", { kind: "postgres", url: "postgres://ann@db:5432/tasks" }],
    ["postgresql://db/tasks", { kind: "postgres", url: "postgresql://db/tasks" }],
    ["redis://db:6379/1", { kind: "redis", url: "redis://db:6379/1" }],
    ["rediss://db", { kind: "redis", url: "rediss://db" }],
    ["valkey://db:6379/1", { kind: "redis", url: "redis://db:6379/1" }],
    ["valkeys://db", { kind: "redis", url: "rediss://db" }],
    ["my-stores:RedisTaskStore", { kind: "module", module: "my-stores", className: "RedisTaskStore" }],
    ["@me/stores/redis:Store", { kind: "module", module: "@me/stores/redis", className: "Store" }],
    ["file:///srv/store.js:Store", { kind: "module", module: "file:///srv/store.js", className: "Store" }],
    ["C:\\stores\\a.js:Store", { kind: "module", module: "C:\\stores\\a.js", className: "Store" }],
  ])("%s", (text, spec) => {
    expect(parseStoreSpec(text)).toEqual(spec);
  });

  test.each(["", "Memory", "sqlite", "tasks.db", ":Store", "module:", "module:not a name", "my_stores:1st"])(
    "%j is refused, and the forms are named",
    async (text) => {
      expect(await refusal(text)).toContain(
        "none of memory, sqlite:FILE, postgres://…, redis://…, valkey://… or MODULE:CLASS",
      );
    },
  );

  test("a database URL of another product is refused without its password", async () => {
    const message = await refusal("mongodb://ann:s3cret@db.example:6379");
    expect(message).toContain("mongodb://***@db.example:6379");
    expect(message).not.toContain("s3cret");
  });

  test.each([
    "mongodb://ann:s3cret@db:Store",
    "mongodb://s3cret@db.example",
    "mysql://ann:s3cret/s3cret@db.example/tasks",
    "mysql://ann:s3cret@s3cret@db.example/tasks",
    "mysql://db.example/tasks?password=s3cret",
    "postgres:ann:s3cret@db.example/tasks",
    "redis:/:s3cret@db.example",
    "REDIS://:s3cret@db.example",
    "redis://:s3cret%zz@db.example",
    "redis://:s3cret@db.example:no-port",
    "redis://:s3cret\n@db.example:no-port",
    "postgres://ann:s3cret/s3cret@db.example/tasks",
    "postgres://ann:s3cret#s3cret@db.example/tasks",
    "postgres://ann:s3cret?s3cret@db.example/tasks",
    "postgres://ann@db.example:no-port/tasks?password=s3cret",
    "postgres://ann@db.example/tasks?sslmode=none&password=s3cret",
  ])("%s is refused without its password", async (spec) => {
    const message = await refusal(spec);
    expect(message).toMatch(/(\*\*\*@|\/\/)db\b/);
    expect(message).not.toContain("s3cret");
  });

  test.each(["./a@b/stores.mjs:Missing", "@nobody/stores:Missing"])(
    "%s, which has no password, is shown",
    async (spec) => {
      expect(await refusal(spec)).toContain(`the store ${spec} cannot be used`);
    },
  );

  test("sqlite needs a file, and a real one", async () => {
    expect(await refusal("sqlite:")).toContain("sqlite:tasks.db");
    expect(await refusal("sqlite::memory:")).toContain('"memory"');
  });
});

describe("a store of another module", () => {
  test("is found beside the command, by path, by URL and by package name", async () => {
    for (const module of ["./stores.mjs", join(cwd, "stores.mjs"), pathToFileURL(join(cwd, "stores.mjs")).href]) {
      expect((await open(`${module}:Plain`)).constructor.name).toBe("Plain");
    }
    expect((await open("esm-store:Store")).constructor.name).toBe("Store");
    expect((await open("./stores.cjs:Plain")).constructor.name).toBe("Plain");
  });

  test("is opened before it is handed out", async () => {
    expect(await open("./stores.mjs:Opening")).toMatchObject({ opened: 1 });
  });

  test("memory is the store of the core", async () => {
    expect(await open("memory")).toBeInstanceOf(MemoryStore);
  });
});

describe("a store that cannot be had is a refusal that names it and the cause", () => {
  test.each([
    ["./missing.mjs:Store", /cannot be imported.*missing\.mjs/s],
    ["no-such-package:Store", /cannot be imported.*no-such-package/s],
    ["./broken.mjs:Store", /cannot be imported.*no-such-driver/s],
    ["./throwing.mjs:Store", /cannot be imported: no licence/],
    ["./stores.mjs:Missing", /no class Missing; it exports Half, Opening, Plain/],
    ["./stores.mjs:notAClass", /no class notAClass/],
    ["./stores.mjs:arrow", /cannot be built/],
    ["./stores.mjs:constructor", /no class constructor/],
    ["./stores.cjs:constructor", /no class constructor/],
    ["./stores.mjs:Throwing", /cannot be built: STORE_URL is not set/],
    ["./stores.mjs:Half", /no task store: it lacks update, findByKey/],
    ["./stores.mjs:Refusing", /cannot be opened: connect ECONNREFUSED 10\.0\.0\.7:6379/],
  ])("%s", async (spec, cause) => {
    const message = await refusal(spec);
    expect(message).toContain(`the store ${spec} cannot be used`);
    expect(message).toMatch(cause);
  });

  test("what could be built and not opened is closed again", async () => {
    const module = await import(pathToFileURL(join(cwd, "stores.mjs")).href);
    const before = module.Refusing.closed;
    await refusal("./stores.mjs:Refusing");
    expect(module.Refusing.closed).toBe(before + 1);
  });
});
