/** Holds the house's plan (docs/architecture.md, "Packages") against the imports that are really there. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { hasWildcardExport, importsOf } from "./layering/imports.js";
import {
  escapingImports,
  importCycles,
  type LayeringTable,
  reachingTestImports,
  testingImports,
  undeclaredDependencies,
  unusedDependencies,
  upwardImports,
  upwardTestImports,
} from "./layering/rules.js";
import { readPackages, type SourceFile, type WorkspacePackage } from "./layering/workspace.js";

const packages = readPackages();
const sources = packages.flatMap((each) => each.sources);

/** Imports point down this table only. A new package gets its row before its first import. */
const MAY_IMPORT: LayeringTable = {
  cli: ["core", "store-contract", "sqlite", "postgres", "redis", "mcp", "jupyter"],
  jupyter: ["mcp", "core"],
  mcp: ["core"],
  sqlite: ["core"],
  postgres: ["core"],
  redis: ["core"],
  "store-contract": ["core"],
  core: [],
};

describe("packages", () => {
  test("the table names exactly the packages that exist", () => {
    expect(packages.map((each) => each.folder)).toEqual(Object.keys(MAY_IMPORT).sort());
  });

  test("docs/architecture.md has a row for each", () => {
    const text = readFileSync(new URL("../docs/architecture.md", import.meta.url), "utf8");
    const rows = new Set([...text.matchAll(/^\| `([^`]+)`/gm)].map(([, name]) => name));
    expect(packages.filter(({ name }) => !rows.has(name)).map(({ name }) => name)).toEqual([]);
  });

  test("the command is published as claimcheck, the rest in the scope", () => {
    for (const { folder, name } of packages) {
      expect(name).toBe(folder === "cli" ? "claimcheck" : `@claimcheck/${folder}`);
    }
  });

  test("imports point down the table only", () => {
    expect(upwardImports(packages, MAY_IMPORT)).toEqual([]);
  });

  test("tests import nothing from above either", () => {
    expect(upwardTestImports(packages, MAY_IMPORT)).toEqual([]);
  });

  test("no relative import leaves its package", () => {
    expect(escapingImports(packages)).toEqual([]);
  });

  test("no test reaches into another package", () => {
    expect(reachingTestImports(packages)).toEqual([]);
  });

  test("what is made for tests is loaded by tests alone", () => {
    expect(testingImports(packages)).toEqual([]);
  });

  test("what a package imports, it declares", () => {
    expect(undeclaredDependencies(packages)).toEqual([]);
  });

  test("what a package declares, it imports", () => {
    expect(unusedDependencies(packages)).toEqual([]);
  });

  test("the core knows no MCP SDK", () => {
    const core = packages.find((each) => each.folder === "core");
    const outside = core?.sources
      .flatMap((file) => file.imports)
      .filter((each) => /modelcontextprotocol/.test(each.specifier));
    expect(outside).toEqual([]);
  });

  test.each(packages.map((each) => [each.folder, each] as const))("%s has no ring of value imports", (_, each) => {
    expect(importCycles(each.sources)).toEqual([]);
  });

  test.each(packages.map((each) => [each.folder, each] as const))("%s names each export in its index", (_, each) => {
    const index = each.sources.find((file) => file.path === `packages/${each.folder}/src/index.ts`);
    expect(index?.text).toMatch(/export/);
    expect(each.sources.filter((file) => hasWildcardExport(file.path, file.text)).map((file) => file.path)).toEqual([]);
  });
});

describe("the check itself", () => {
  test("it has read a plausible number of files and imports", () => {
    expect(sources.length).toBeGreaterThan(40);
    expect(packages.flatMap((each) => each.tests).length).toBeGreaterThan(40);
    expect(sources.flatMap((file) => file.imports).length).toBeGreaterThan(150);
    expect(sources.find((file) => file.path.endsWith("core/src/index.ts"))?.imports.length).toBeGreaterThan(10);
  });

  test("it sees every way to import", () => {
    const text = [
      'import { a } from "static";',
      'import type { b } from "static-type";',
      'import { type c } from "inline-type";',
      'import "side-effect";',
      'export { d } from "re-export";',
      'export type { e } from "re-export-type";',
      'type F = import("import-type").F;',
      'const g = await import("dynamic");',
      'import h = require("import-require");',
      'const i = require("require");',
      'declare module "augmented" {}',
      'const NAME = "constant";',
      "const j = await import(NAME);",
    ].join("\n");
    expect(importsOf("x.ts", text)).toEqual([
      { specifier: "static", isValue: true, line: 1 },
      { specifier: "static-type", isValue: false, line: 2 },
      { specifier: "inline-type", isValue: true, line: 3 },
      { specifier: "side-effect", isValue: true, line: 4 },
      { specifier: "re-export", isValue: true, line: 5 },
      { specifier: "re-export-type", isValue: false, line: 6 },
      { specifier: "import-type", isValue: false, line: 7 },
      { specifier: "dynamic", isValue: true, line: 8 },
      { specifier: "import-require", isValue: true, line: 9 },
      { specifier: "require", isValue: true, line: 10 },
      { specifier: "augmented", isValue: false, line: 11 },
      { specifier: "constant", isValue: true, line: 13 },
    ]);
  });

  test.each([
    ["a value", 'import { createTasks } from "@claimcheck/mcp";'],
    ["a type", 'import type { Tasks } from "@claimcheck/mcp";'],
    ["a subpath, late", 'await import("@claimcheck/mcp/testing");'],
  ])("it reports %s that is imported from above", (_, text) => {
    expect(upwardImports(withFile("core", text), MAY_IMPORT)).toEqual([
      expect.stringMatching(/^packages\/core\/src\/planted\.ts:1 /),
    ]);
  });

  test("it reports a test that imports from above, and not one that runs the cases of a store", () => {
    const tests = (folder: string, text: string) =>
      withFile(folder, text).map((each) => ({ ...each, sources: [], tests: each.sources }));
    const planted = expect.stringMatching(/planted\.ts:1 imports @claimcheck\/mcp$/);
    expect(upwardTestImports(tests("sqlite", 'import "@claimcheck/mcp";'), MAY_IMPORT)).toEqual([planted]);
    expect(upwardTestImports(tests("sqlite", 'import "@claimcheck/store-contract";'), MAY_IMPORT)).toEqual([]);
  });

  test("it reports a relative import into another package", () => {
    const text = 'import { startServer } from "../../jupyter/src/server/index.js";';
    expect(escapingImports(withFile("mcp", text))).toHaveLength(1);
  });

  test("it reports a test that reaches into another package, and not one that uses what all tests share", () => {
    const reports = (text: string) =>
      reachingTestImports(withFile("mcp", text).map((each) => ({ ...each, sources: [], tests: each.sources })));
    expect(reports('import "../../jupyter/test/tools/live-server.js";')).toHaveLength(1);
    expect(reports('import "../../../test/fixtures/eventually.js";')).toEqual([]);
  });

  test.each(["@claimcheck/core/testing", "./testing/index.js"])(
    "it reports %s loaded by what is no test",
    (specifier) => {
      expect(testingImports(withFile("mcp", `await import("${specifier}");`))).toHaveLength(1);
    },
  );

  test("it reports a dependency that is missing, and one too many", () => {
    expect(undeclaredDependencies(withFile("core", 'import pino from "pino";'))).toEqual(["core needs pino"]);
    const idle: WorkspacePackage = {
      folder: "core",
      name: "@claimcheck/core",
      manifest: { dependencies: { pino: "1.0.0" } },
      sources: [],
      tests: [],
    };
    expect(unusedDependencies([idle])).toEqual(["core has pino"]);
  });

  test("it reports a ring, and no ring of types", () => {
    const ring = (kind: string) => [
      planted("packages/core/src/a.ts", `${kind} { b } from "./b.js";`),
      planted("packages/core/src/b.ts", 'export { c } from "./c.js";'),
      planted("packages/core/src/c.ts", 'const a = await import("./a.js");'),
    ];
    expect(importCycles(ring("import"))).toEqual([
      "packages/core/src/a.ts → packages/core/src/b.ts → packages/core/src/c.ts → packages/core/src/a.ts",
    ]);
    expect(importCycles(ring("import type"))).toEqual([]);
  });

  test("it reports a wildcard in an index", () => {
    expect(hasWildcardExport("index.ts", 'export * from "./a.js";')).toBe(true);
    expect(hasWildcardExport("index.ts", 'export * as a from "./a.js";')).toBe(true);
    expect(hasWildcardExport("index.ts", 'export { a } from "./a.js";')).toBe(false);
  });
});

/** The real packages, with one more file in one of them. */
function withFile(folder: string, text: string): WorkspacePackage[] {
  const file = planted(`packages/${folder}/src/planted.ts`, text);
  return packages.map((each) => (each.folder === folder ? { ...each, sources: [...each.sources, file] } : each));
}

function planted(path: string, text: string): SourceFile {
  return { path, text, imports: importsOf(path, text) };
}
