/** The packages of this repository as they are on disk. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { type Import, importsOf } from "./imports.js";

/** A TypeScript file with what it imports. Paths are relative to the repository, with forward slashes. */
export interface SourceFile {
  path: string;
  text: string;
  imports: Import[];
}

/** One folder under `packages/`. */
export interface WorkspacePackage {
  folder: string;
  /** As npm knows it. */
  name: string;
  manifest: {
    dependencies?: Record<string, string>;
    peerDependencies?: Record<string, string>;
    optionalDependencies?: Record<string, string>;
  };
  /** Under `src/`. */
  sources: SourceFile[];
  /** Under `test/`. */
  tests: SourceFile[];
}

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Every package, in the order of their folders' names. */
export function readPackages(): WorkspacePackage[] {
  return readdirSync(join(root, "packages"))
    .filter((folder) => existsSync(join(root, "packages", folder, "package.json")))
    .sort()
    .map(readPackage);
}

function readPackage(folder: string): WorkspacePackage {
  const dir = join(root, "packages", folder);
  const manifest = JSON.parse(readFileSync(join(dir, "package.json"), "utf8"));
  return {
    folder,
    name: manifest.name,
    manifest,
    sources: readSources(join(dir, "src")),
    tests: readSources(join(dir, "test")),
  };
}

function readSources(dir: string): SourceFile[] {
  if (!existsSync(dir)) return [];
  return readdirSync(dir, { recursive: true, encoding: "utf8" })
    .filter((name) => /\.tsx?$/.test(name))
    .sort()
    .map((name) => readSource(join(dir, name)));
}

function readSource(file: string): SourceFile {
  const text = readFileSync(file, "utf8");
  return { path: relative(root, file).split(sep).join("/"), text, imports: importsOf(file, text) };
}

/** The path that a relative import means, `.js` read as `.ts`; undefined for the name of a package. */
export function targetOf(file: SourceFile, specifier: string): string | undefined {
  if (!/^\.{1,2}(\/|$)/.test(specifier)) return undefined;
  const target = join(dirname(file.path), specifier).split(sep).join("/");
  return target.replace(/\.js(x?)$/, ".ts$1");
}

/** `@claimcheck/core` for `@claimcheck/core/testing`, `ws` for `ws/lib/x.js`, `node:` for whatever Node has built in. */
export function packageOf(specifier: string): string {
  if (specifier.startsWith("node:")) return "node:";
  return specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");
}
