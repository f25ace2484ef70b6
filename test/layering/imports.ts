/** What a TypeScript file imports, in every way that TypeScript knows. */
import ts from "typescript";

/** One import of a file. */
export interface Import {
  specifier: string;
  /** False when nothing of it is left after compiling. */
  isValue: boolean;
  /** 1-based. */
  line: number;
}

/** Static and dynamic imports, re-exports, `import("…")` types, `require`, and augmentations of a module. */
export function importsOf(fileName: string, text: string): Import[] {
  const source = ts.createSourceFile(fileName, text, ts.ScriptTarget.Latest, true);
  const found: Import[] = [];
  const visit = (node: ts.Node): void => {
    const one = importAt(node);
    if (one !== undefined) {
      const line = source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1;
      found.push({ ...one, line });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

/** Whether a file has an `export *`, with or without a name. */
export function hasWildcardExport(fileName: string, text: string): boolean {
  const source = ts.createSourceFile(fileName, text, ts.ScriptTarget.Latest, true);
  return source.statements.some(
    (statement) =>
      ts.isExportDeclaration(statement) &&
      statement.moduleSpecifier !== undefined &&
      (statement.exportClause === undefined || ts.isNamespaceExport(statement.exportClause)),
  );
}

function importAt(node: ts.Node): Omit<Import, "line"> | undefined {
  if (ts.isImportDeclaration(node)) return named(node.moduleSpecifier, !isTypeOnlyImport(node.importClause));
  if (ts.isExportDeclaration(node)) return named(node.moduleSpecifier, !isTypeOnlyExport(node));
  if (ts.isImportTypeNode(node))
    return ts.isLiteralTypeNode(node.argument) ? named(node.argument.literal, false) : undefined;
  if (ts.isExternalModuleReference(node)) return named(node.expression, true);
  if (ts.isModuleDeclaration(node)) return named(node.name, false);
  if (ts.isCallExpression(node) && isImportCall(node)) return named(node.arguments[0], true);
  return undefined;
}

function named(specifier: ts.Node | undefined, isValue: boolean): Omit<Import, "line"> | undefined {
  if (specifier === undefined || !ts.isStringLiteralLike(specifier)) return undefined;
  return { specifier: specifier.text, isValue };
}

function isImportCall(node: ts.CallExpression): boolean {
  const { expression } = node;
  return (
    expression.kind === ts.SyntaxKind.ImportKeyword || (ts.isIdentifier(expression) && expression.text === "require")
  );
}

/** `import {} from` and `import "…"` run the module; `import { type A }` does so as well under verbatimModuleSyntax. */
function isTypeOnlyImport(clause: ts.ImportClause | undefined): boolean {
  return clause?.phaseModifier === ts.SyntaxKind.TypeKeyword;
}

function isTypeOnlyExport(node: ts.ExportDeclaration): boolean {
  return node.isTypeOnly;
}
