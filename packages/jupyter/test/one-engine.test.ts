/**
 * There is one execution engine: whatever runs code goes through it, so that whatever is cancelled is interrupted and
 * whatever is printed is kept. A second way to a kernel is found here by its shape, whatever it is called.
 */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { describe, expect, it } from "vitest";

const sourceDir = fileURLToPath(new URL("../src/", import.meta.url));

/** A thing that only code on the way to a kernel does, and where it is done. */
interface Sign {
  does: string;
  in: string[];
  isIt(node: ts.Node): boolean;
}

const SIGNS: Sign[] = [
  { does: "opens a socket", in: ["kernel/socket.ts"], isIt: (node) => imports(node, "ws") },
  { does: "sends an execute_request", in: ["kernel/connection.ts"], isIt: (node) => says(node, "execute_request") },
  { does: "awaits an execute_reply", in: ["kernel/execution.ts"], isIt: (node) => says(node, "execute_reply") },
  { does: "looks for idle", in: ["kernel/execution.ts"], isIt: (node) => says(node, "idle") },
  { does: "runs code on a connection", in: ["kernel/queued-run.ts"], isIt: (node) => calls(node, "execute") },
  { does: "puts a run in a kernel's queue", in: ["execution/engine.ts"], isIt: (node) => calls(node, "submit") },
];

function imports(node: ts.Node, module: string): boolean {
  const specifier = ts.isImportDeclaration(node) && !node.importClause?.isTypeOnly ? node.moduleSpecifier : undefined;
  return specifier !== undefined && says(specifier, module);
}

function says(node: ts.Node, text: string): boolean {
  return ts.isStringLiteralLike(node) && node.text === text;
}

/** `x.name(…)` or `x["name"](…)`. */
function calls(node: ts.Node, name: string): boolean {
  if (!ts.isCallExpression(node)) return false;
  const callee = node.expression;
  if (ts.isPropertyAccessExpression(callee)) return callee.name.text === name;
  return ts.isElementAccessExpression(callee) && says(callee.argumentExpression, name);
}

function has(code: string, sign: Sign): boolean {
  const visit = (node: ts.Node): boolean => sign.isIt(node) || (ts.forEachChild(node, visit) ?? false);
  return visit(ts.createSourceFile("it.ts", code, ts.ScriptTarget.Latest, true));
}

const sources = readdirSync(sourceDir, { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".ts"))
  .map((file) => ({ file: file.replaceAll("\\", "/"), code: readFileSync(`${sourceDir}${file}`, "utf8") }));

describe("the one engine", () => {
  it.each(SIGNS.map((sign) => [sign.does, sign] as const))("is the only one that %s", (_, sign) => {
    const found = sources.filter(({ code }) => has(code, sign)).map(({ file }) => file);
    expect(found.sort()).toEqual(sign.in);
  });

  it("is what the search looks at", () => {
    expect(sources.map(({ file }) => file)).toContain("execution/engine.ts");
    expect(sources.length).toBeGreaterThan(20);
  });
});

describe("a second loop that waits for a kernel", () => {
  it.each([
    ["on the queue", 'const run = kernel["queue"].submit({ code });\nawait run.ended;'],
    ["on the connection", "for (;;) { await this.#connection.execute({ code }).idle; }"],
    ["by messages of its own", "send(createMessage(sender, { channel, type: `execute_request`, content: { code } }));"],
    ["over a socket of its own", 'import { WebSocket as Socket } from "ws";\nnew Socket(url);'],
    ["for the reply", 'while (message.header.msg_type !== "execute_reply") message = await next();'],
    ["by polling the server", 'while ((await rest.getKernel(id)).executionState !== "idle") await sleep(100);'],
  ])("is found: %s", (_, code) => {
    expect(SIGNS.filter((sign) => has(code, sign))).toHaveLength(1);
  });

  it("is not seen in a comment or a type", () => {
    const code = '// An "execute_request", then "idle": connection.execute(code)\nimport type { WebSocket } from "ws";';
    expect(SIGNS.filter((sign) => has(code, sign))).toEqual([]);
  });
});
