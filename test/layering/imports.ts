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
  const constants = stringConstants(source);
  const found: Import[] = [];
  const visit = (node: ts.Node): void => {
    const one = importAt(node, constants);
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

/** A module's name may stand in a constant, as that of an optional one does: the compiler then asks for no types. */
function stringConstants(source: ts.SourceFile): Map<string, string> {
  const constants = new Map<string, string>();
  for (const statement of source.statements) {
    if (!ts.isVariableStatement(statement)) continue;
    for (const { name, initializer } of statement.declarationList.declarations) {
      if (ts.isIdentifier(name) && initializer !== undefined && ts.isStringLiteralLike(initializer)) {
        constants.set(name.text, initializer.text);
      }
    }
  }
  return constants;
}

function importAt(node: ts.Node, constants: Map<string, string>): Omit<Import, "line"> | undefined {
  if (ts.isImportDeclaration(node)) return named(node.moduleSpecifier, !isTypeOnlyImport(node.importClause));
  if (ts.isExportDeclaration(node)) return named(node.moduleSpecifier, !isTypeOnlyExport(node));
  if (ts.isImportTypeNode(node))
    return ts.isLiteralTypeNode(node.argument) ? named(node.argument.literal, false) : undefined;
  if (ts.isExternalModuleReference(node)) return named(node.expression, true);
  if (ts.isModuleDeclaration(node)) return named(node.name, false);
  if (ts.isCallExpression(node) && isImportCall(node)) return called(node.arguments[0], constants);
  return undefined;
}

function called(argument: ts.Node | undefined, constants: Map<string, string>): Omit<Import, "line"> | undefined {
  const constant = argument !== undefined && ts.isIdentifier(argument) ? constants.get(argument.text) : undefined;
  return constant === undefined ? named(argument, true) : { specifier: constant, isValue: true };
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
