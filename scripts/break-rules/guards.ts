import { globSync, readFileSync } from "node:fs";
import ts from "typescript";

/** A rule that the sources enforce in one place, and the edit that takes it out. */
export interface Guard {
  file: string;
  line: number;
  /** The condition, in one line. */
  rule: string;
  /** Text that stands once in the file. */
  find: string;
  replace: string;
}

/** Whether a statement only refuses or leaves: it throws, returns, or goes on with the next. */
function leaves(statement: ts.Statement): boolean {
  const only = ts.isBlock(statement) && statement.statements.length === 1 ? statement.statements[0]! : statement;
  return ts.isThrowStatement(only) || ts.isReturnStatement(only) || ts.isContinueStatement(only);
}

const COMPARES: ReadonlySet<ts.SyntaxKind> = new Set([
  ts.SyntaxKind.EqualsEqualsEqualsToken,
  ts.SyntaxKind.ExclamationEqualsEqualsToken,
  ts.SyntaxKind.LessThanToken,
  ts.SyntaxKind.LessThanEqualsToken,
  ts.SyntaxKind.GreaterThanToken,
  ts.SyntaxKind.GreaterThanEqualsToken,
  ts.SyntaxKind.InstanceOfKeyword,
]);

/** Whether an expression is a condition by its form; a comparison with nothing mostly says which type a value has. */
function isCondition(node: ts.Node): boolean {
  if (ts.isParenthesizedExpression(node)) return isCondition(node.expression);
  if (ts.isPrefixUnaryExpression(node)) return node.operator === ts.SyntaxKind.ExclamationToken;
  if (ts.isBinaryExpression(node))
    return COMPARES.has(node.operatorToken.kind) && !/\b(?:undefined|null|typeof)\b/.test(node.getText());
  const called = ts.isCallExpression(node) ? node.expression : node;
  const name = ts.isPropertyAccessExpression(called) ? called.name.text : ts.isIdentifier(called) ? called.text : "";
  return /^(?:is|has|may|can|does|needs|allows|includes|some|every|startsWith|endsWith|test)(?:[A-Z]|$)/.test(name);
}

/** Whether an expression is made of several conditions, each a rule of its own. */
const isOfSeveral = (node: ts.Node): boolean =>
  ts.isBinaryExpression(node) &&
  [ts.SyntaxKind.AmpersandAmpersandToken, ts.SyntaxKind.BarBarToken].includes(node.operatorToken.kind);

/** Returns what stands for a condition that is asked and never counts, or undefined if a node is none. */
function broken(node: ts.Node): string | undefined {
  const { parent } = node;
  // The condition goes on being asked, since it may also count or advance something.
  if (ts.isIfStatement(parent) && parent.expression === node && leaves(parent.thenStatement))
    return parent.elseStatement === undefined && !isOfSeveral(node) ? `(${node.getText()}) && false` : undefined;
  if (!ts.isBinaryExpression(parent) || !isCondition(node)) return undefined;
  if (parent.operatorToken.kind === ts.SyntaxKind.AmpersandAmpersandToken) return `(${node.getText()}, true)`;
  if (parent.operatorToken.kind === ts.SyntaxKind.BarBarToken) return `(${node.getText()}, false)`;
  return undefined;
}

/** Returns the rules of a source file, in their order: what refuses or leaves, and each condition of several. */
export function guardsOf(file: string): Guard[] {
  const text = readFileSync(file, "utf8");
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const found: Guard[] = [];
  const visit = (node: ts.Node): void => {
    const instead = node === source ? undefined : broken(node);
    if (instead !== undefined) {
      const start = node.getStart(source);
      let around = node;
      while (text.split(around.getText(source)).length > 2) around = around.parent;
      const [from, find] = [around.getStart(source), around.getText(source)];
      const replace = find.slice(0, start - from) + instead + find.slice(node.end - from);
      const rule = node.getText(source).replaceAll(/\s+/g, " ");
      found.push({ file, line: source.getLineAndCharacterOfPosition(start).line + 1, rule, find, replace });
    }
    node.forEachChild(visit);
  };
  visit(source);
  return found;
}

/** Returns the room of a file: its folder of `lib`, or `commands`. */
const folderOf = (file: string): string =>
  file
    .split("/")
    .slice(0, file.startsWith("lib/") ? 2 : 1)
    .join("/");

/**
 * Returns the rules of the product by their rooms: folders of `lib`, and `commands`.
 *
 * @param rooms - expressions that paths match: each then is a room, and files of none are left out
 */
export function guardsByRoom(rooms: readonly RegExp[] = []): Map<string, Guard[]> {
  const found = new Map<string, Guard[]>();
  for (const file of globSync("{lib,commands}/**/*.ts").toSorted()) {
    const room = rooms.length === 0 ? folderOf(file) : rooms.find((one) => one.test(file))?.source;
    if (room !== undefined) found.set(room, [...(found.get(room) ?? []), ...guardsOf(file)]);
  }
  return found;
}
