/** The packages as they would be published: packed, installed in an empty folder, compiled against and run. */
import { execFile, spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { CallToolResultSchema } from "@modelcontextprotocol/sdk/types.js";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));
const folders = readdirSync(join(root, "packages"));
const read = (path: string): string => readFileSync(join(root, path), "utf8");
const workspace = JSON.parse(read("package.json"));
const execute = promisify(execFile);
const npm = (args: string[], cwd: string) => execute("npm", args, { cwd, shell: process.platform === "win32" });

interface Tarball {
  name: string;
  filename: string;
  files: { path: string }[];
}

let dir: string;
let tarballs: Tarball[];

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "claimcheck-packages-"));
  const { stdout } = await npm(["pack", "--json", "--workspaces", "--pack-destination", dir], root);
  tarballs = JSON.parse(stdout);
  await writeFile(join(dir, "package.json"), JSON.stringify(project()));
  await npm(["install", "--no-audit", "--no-fund", "--prefer-offline"], dir);
}, 300_000);

afterAll(() => rm(dir, { recursive: true, force: true }));

/** A user's own, with every package and what the READMEs have them install beside. */
function project(): object {
  const packed = tarballs.map(({ name, filename }) => [name, `file:${filename}`]);
  const { dependencies: of } = JSON.parse(read("packages/jupyter/package.json"));
  const beside = { "@modelcontextprotocol/server": of["@modelcontextprotocol/server"], zod: of.zod };
  const types = { "@types/node": workspace.devDependencies["@types/node"] };
  const dependencies = { ...Object.fromEntries(packed), ...beside };
  return { name: "museum", private: true, type: "module", dependencies, devDependencies: types };
}

/** The code blocks of a README that are TypeScript. */
function examplesIn(readme: string): string[] {
  return [...read(readme).matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, code = ""]) => code);
}

/** The first example of each README that has one, by the file that it is written to. The command's are no code. */
const EXAMPLES = new Map<string, string>(
  ["README.md", ...folders.map((folder) => `packages/${folder}/README.md`)].flatMap((readme) =>
    examplesIn(readme)
      .slice(0, 1)
      .map((code) => [`${readme.split("/").at(-2) ?? "root"}.ts`, code] as const),
  ),
);

describe.each(folders)("the tarball of packages/%s", (folder) => {
  const manifest = JSON.parse(read(`packages/${folder}/package.json`));
  const contents = (): string[] => {
    const tarball = tarballs.find(({ name }) => name === manifest.name);
    return tarball?.files.map(({ path }) => path) ?? [];
  };

  test("holds the licence, a README and the build, and nothing else", () => {
    const others = contents().filter((path) => !/^(dist|bin)\/.*\.(js|js\.map|d\.ts)$/.test(path));
    expect(others.sort()).toEqual(["LICENSE", "README.md", "package.json"]);
    expect(contents()).toContain("dist/index.js");
    expect(read(`packages/${folder}/LICENSE`)).toBe(read("LICENSE"));
  });

  test("has what its manifest points to", () => {
    const exported: { types: string; default: string }[] = Object.values(manifest.exports);
    const targets = exported.flatMap((each) => [each.types, each.default]);
    const others = [...Object.values<string>(manifest.bin ?? {}), ...Object.values<string>(manifest.imports ?? {})];
    for (const target of [...targets, ...others]) expect(contents()).toContain(target.replace(/^\.\//, ""));
  });

  test("says what it is, whose it is and what it needs", () => {
    expect(manifest).toMatchObject({ license: workspace.license, engines: workspace.engines, type: "module" });
    expect(manifest.repository).toEqual({ ...workspace.repository, directory: `packages/${folder}` });
    expect(manifest.description).toMatch(/\.$/);
    expect(manifest.keywords).toContain("mcp");
  });
});

describe("a user's project", () => {
  test.each([
    ["nodenext", { module: "nodenext", moduleResolution: "nodenext" }],
    ["bundler", { module: "esnext", moduleResolution: "bundler" }],
  ])("compiles the examples of the READMEs strictly (%s)", async (name, resolution) => {
    const shown = folders.filter((folder) => folder !== "cli").map((folder) => `${folder}.ts`);
    expect([...EXAMPLES.keys()]).toEqual(["root.ts", ...shown]);
    for (const [file, code] of EXAMPLES) await writeFile(join(dir, file), code);
    const strictness = { strict: true, exactOptionalPropertyTypes: true, skipLibCheck: false, types: ["node"] };
    const compilerOptions = { target: "es2023", lib: ["es2024"], outDir: name, ...strictness, ...resolution };
    await writeFile(join(dir, `${name}.json`), JSON.stringify({ compilerOptions, files: [...EXAMPLES.keys()] }));
    const compiler = join(root, "node_modules/typescript-native/bin/tsc");
    const compiled = await execute(process.execPath, [compiler, "-p", `${name}.json`], { cwd: dir }).catch(
      ({ stdout }) => ({ stdout }),
    );
    expect(compiled.stdout).toBe("");
    expect(existsSync(join(dir, name, "root.js"))).toBe(true);
  });

  test("runs the README's first example, and calls its tool as a task", async () => {
    const url = await served("nodenext/root.js");
    const client = new Client({ name: "reader", version: "1.0.0" }, { capabilities: { tasks: {} } });
    await client.connect(new StreamableHTTPClientTransport(new URL(url)) as Parameters<Client["connect"]>[0]);
    onTestFinished(() => client.close());
    const call = { name: "build_report", arguments: { year: 2026 } };
    const stream = client.experimental.tasks.callToolStream(call, CallToolResultSchema, { task: {} });
    const seen: string[] = [];
    for await (const message of stream) {
      seen.push(message.type);
      if (message.type === "result") expect(JSON.stringify(message.result)).toContain("The report of 2026 is ready.");
    }
    expect(seen[0]).toBe("taskCreated");
    expect(seen.at(-1)).toBe("result");
  });

  test("runs a task with the core alone, and the cases of the store contract", async () => {
    const { stdout } = await execute(process.execPath, ["nodenext/core.js"], { cwd: dir });
    expect(stdout).toBe("completed\n");
    // One reporter: which is the default depends on Node's version.
    const args = ["--test", "--test-reporter=tap", "nodenext/store-contract.js"];
    const cases = await execute(process.execPath, args, { cwd: dir }).catch((error: { stdout: string }) => error);
    expect(cases.stdout).toMatch(/# fail 0/);
  });

  test("has the command", async () => {
    const { stdout } = await execute("npx", ["--offline", "claimcheck", "--help"], { cwd: dir });
    expect(stdout).toContain("Usage: claimcheck");
  });
});

/** Where the program serves MCP; it is killed when the test ends. */
function served(program: string): Promise<string> {
  const child = spawn(process.execPath, [program], { cwd: dir, env: { ...process.env, PORT: "0" } });
  onTestFinished(() => void child.kill("SIGKILL"));
  let said = "";
  return new Promise((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        said += text;
        const url = /serving MCP on (\S+)/.exec(said)?.[1];
        if (url !== undefined) resolve(url);
      });
    }
    child.once("close", () => reject(new Error(said)));
  });
}
