/** What the README says is held against what is there: its code, its settings, its commands and its links. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { main } from "../packages/cli/src/main.js";
import { testHost } from "../packages/cli/test/test-host.js";

const root = fileURLToPath(new URL("..", import.meta.url));
const read = (name: string) => readFileSync(join(root, name), "utf8");
const readme = read("README.md");

const GUIDES = readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" }).filter((name) =>
  name.endsWith(".md"),
);
const PACKAGES = readdirSync(join(root, "packages"));
const DOCS = [
  ...["README.md", "AGENTS.md", "CONTRIBUTING.md", "CHANGELOG.md"],
  ...GUIDES.map((name) => `docs/${name}`),
  ...PACKAGES.map((name) => `packages/${name}/README.md`),
];

/** The code blocks of a language, in order. */
function blocks(text: string, language: string): string[] {
  return [...text.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, "gm"))].map(([, code = ""]) => code);
}

describe("the README", () => {
  test("shows the example server as it is; examples.live.test.ts runs it", () => {
    expect(blocks(readme, "ts")).toEqual([read("examples/quick-start.ts")]);
  });

  test("configures a client with a command line that is accepted", async () => {
    const [snippet] = blocks(readme, "json").map((text) => JSON.parse(text));
    const { command, args, env } = snippet.mcpServers.jupyter;
    expect(command).toBe("node");
    expect(existsSync(join(root, args[0].replace("/path/to/claimcheck/", "")))).toBe(true);
    expect(Object.keys(env)).toEqual(["JUPYTER_URL", "JUPYTER_TOKEN"]);
    expect(await exitCodeOf([...args.slice(1), "--help"])).toBe(0);
  });

  test("names only options that the command has", async () => {
    const manual = await manualOf();
    const options = [...readme.matchAll(/(?<=[\s`])--[a-z][a-z-]+/g)].map(([option]) => option);
    const others = ["--once", "--import", "--help", "--location", "--save-dev"];
    expect(options.length).toBeGreaterThan(4);
    expect(options.filter((option) => !others.includes(option) && !manual.includes(option))).toEqual([]);
  });
});

test("docs/testing.md shows the tests of docs/testing-guide.test.ts as they are, all of them", () => {
  expect(blocks(read("docs/testing.md"), "ts").join("\n")).toBe(read("test/docs/testing-guide.test.ts"));
});

test("every guide can be reached from the README", () => {
  expect(GUIDES.length).toBeGreaterThan(3);
  for (const guide of GUIDES) expect(readme).toContain(`(docs/${guide})`);
});

test.each(DOCS)("%s names scripts, files and pages that exist", (name) => {
  const text = read(name);
  const scripts = Object.keys(JSON.parse(read("package.json")).scripts);
  for (const [, script] of text.matchAll(/npm run ([a-z]+)/g)) expect(scripts).toContain(script);
  for (const [, link = ""] of text.matchAll(/\]\((?!https?:)([^)#]+)/g)) {
    expect(existsSync(join(root, dirname(name), link)), `${name} links to ${link}`).toBe(true);
  }
  for (const [, file = ""] of text.matchAll(/`((?:test|scripts|examples|core\/src|mcp\/src|packages)\/[\w./-]+)`/g)) {
    const path = /^(core|mcp)\//.test(file) ? `packages/${file}` : file;
    expect(existsSync(join(root, path)), `${name} names ${file}`).toBe(true);
  }
});

async function exitCodeOf(args: string[]): Promise<number> {
  return (await outcomeOf(args)).exitCode;
}

async function manualOf(): Promise<string> {
  return (await outcomeOf(["jupyter", "--help"])).stdout;
}

async function outcomeOf(args: string[]): Promise<{ exitCode: number; stdout: string }> {
  const host = testHost();
  return { exitCode: await main(args, host), stdout: host.written("stdout") };
}
