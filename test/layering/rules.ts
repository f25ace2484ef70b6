/** The rules on who may import whom, as functions from the packages to what breaks them. */
import { packageOf, type SourceFile, targetOf, type WorkspacePackage } from "./workspace.js";

/** Per package folder: the folders of the packages that it may import. */
export type LayeringTable = Readonly<Record<string, readonly string[]>>;

/** Imports of our own packages that the table does not allow. */
export function upwardImports(packages: WorkspacePackage[], table: LayeringTable): string[] {
  return forbiddenImports(packages, "sources", (from, to) => table[from]?.includes(to) === true);
}

/** The same of a package's tests, which may also import the package itself, and the cases that stores are tested with. */
export function upwardTestImports(packages: WorkspacePackage[], table: LayeringTable): string[] {
  const isAllowed = (from: string, to: string): boolean =>
    to === from || to === "store-contract" || table[from]?.includes(to) === true;
  return forbiddenImports(packages, "tests", isAllowed);
}

function forbiddenImports(
  packages: WorkspacePackage[],
  part: "sources" | "tests",
  isAllowed: (from: string, to: string) => boolean,
): string[] {
  const folderOf = new Map(packages.map((each) => [each.name, each.folder]));
  return packages.flatMap((from) =>
    from[part].flatMap((file) =>
      file.imports
        .filter(({ specifier }) => {
          const to = folderOf.get(packageOf(specifier));
          return to !== undefined && !isAllowed(from.folder, to);
        })
        .map(({ specifier, line }) => `${file.path}:${line} imports ${specifier}`),
    ),
  );
}

/** Relative imports that leave the package's `src`: a way around its index. */
export function escapingImports(packages: WorkspacePackage[]): string[] {
  return packages.flatMap((from) =>
    from.sources.flatMap((file) =>
      file.imports
        .filter(({ specifier }) => targetOf(file, specifier)?.startsWith(`packages/${from.folder}/src/`) === false)
        .map(({ specifier, line }) => `${file.path}:${line} imports ${specifier}`),
    ),
  );
}

/** Relative imports of a package's tests that reach into another package: what two of them need has a place of its own. */
export function reachingTestImports(packages: WorkspacePackage[]): string[] {
  return packages.flatMap((from) =>
    from.tests.flatMap((file) =>
      file.imports
        .filter(({ specifier }) => reachesIntoAnother(from, file, specifier))
        .map(({ specifier, line }) => `${file.path}:${line} imports ${specifier}`),
    ),
  );
}

function reachesIntoAnother({ folder }: WorkspacePackage, file: SourceFile, specifier: string): boolean {
  const target = targetOf(file, specifier) ?? "";
  return target.startsWith("packages/") && !target.startsWith(`packages/${folder}/`);
}

/** What is made for tests, loaded by what is not. */
export function testingImports(packages: WorkspacePackage[]): string[] {
  const isTesting = (path: string): boolean => /^packages\/[^/]+\/src\/testing\//.test(path);
  return packages
    .flatMap((each) => each.sources)
    .filter((file) => !isTesting(file.path))
    .flatMap((file) =>
      file.imports
        .filter(
          ({ specifier }) =>
            /^@claimcheck\/[^/]+\/testing$/.test(specifier) || isTesting(targetOf(file, specifier) ?? ""),
        )
        .map(({ specifier, line }) => `${file.path}:${line} imports ${specifier}`),
    );
}

/** Packages that are imported and not declared, so that an installation may lack them. */
export function undeclaredDependencies(packages: WorkspacePackage[]): string[] {
  return packages.flatMap((each) => {
    const declared = declaredBy(each);
    return [...importedBy(each)].filter((name) => !declared.has(name)).map((name) => `${each.folder} needs ${name}`);
  });
}

/** Packages that are declared and never imported: everybody installs them for nothing. */
export function unusedDependencies(packages: WorkspacePackage[]): string[] {
  return packages.flatMap((each) => {
    const imported = importedBy(each);
    return [...declaredBy(each)].filter((name) => !imported.has(name)).map((name) => `${each.folder} has ${name}`);
  });
}

function declaredBy({ manifest }: WorkspacePackage): Set<string> {
  return new Set(
    Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies, ...manifest.optionalDependencies }),
  );
}

/** Without itself: a package may augment its own types by name. */
function importedBy({ name, sources }: WorkspacePackage): Set<string> {
  const imported = new Set<string>();
  for (const file of sources) {
    for (const { specifier } of file.imports) {
      if (targetOf(file, specifier) === undefined) imported.add(packageOf(specifier));
    }
  }
  imported.delete("node:");
  imported.delete(name);
  return imported;
}

/** Rings of files that need each other when they are loaded. Types alone make no ring: nothing of them is loaded. */
export function importCycles(files: SourceFile[]): string[] {
  const edges = new Map(files.map((file) => [file.path, valueTargets(file)]));
  const done = new Set<string>();
  const cycles: string[] = [];
  const visit = (path: string, trail: string[]): void => {
    const start = trail.indexOf(path);
    if (start >= 0) cycles.push([...trail.slice(start), path].join(" → "));
    if (start >= 0 || done.has(path)) return;
    for (const next of edges.get(path) ?? []) visit(next, [...trail, path]);
    done.add(path);
  };
  for (const path of edges.keys()) visit(path, []);
  return cycles;
}

function valueTargets(file: SourceFile): string[] {
  return file.imports
    .filter(({ isValue }) => isValue)
    .map(({ specifier }) => targetOf(file, specifier))
    .filter((target) => target !== undefined);
}
