/** The module hooks behind typescript.mjs; Node runs them on a thread of their own. */
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import ts from "typescript";

/** A TypeScript file imports its neighbours by the names that they will have once built. */
export function resolve(specifier, context, next) {
  if (!/^\.{1,2}\/.*\.js$/.test(specifier) || !context.parentURL?.endsWith(".ts")) return next(specifier, context);
  const source = new URL(specifier.replace(/\.js$/, ".ts"), context.parentURL);
  return next(existsSync(source) ? source.href : specifier, context);
}

export async function load(url, context, next) {
  if (!url.startsWith("file:") || !url.endsWith(".ts")) return next(url, context);
  const fileName = fileURLToPath(url);
  const { outputText } = ts.transpileModule(await readFile(fileName, "utf8"), {
    fileName,
    compilerOptions: {
      target: ts.ScriptTarget.ES2023,
      module: ts.ModuleKind.ESNext,
      verbatimModuleSyntax: true,
      inlineSourceMap: true,
      inlineSources: true,
    },
  });
  return { format: "module", source: outputText, shortCircuit: true };
}
