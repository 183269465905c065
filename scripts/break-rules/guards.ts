import { globSync, readFileSync } from "node:fs";
import ts from "typescript";

/** A rule that the sources enforce in one place, an `if` that only refuses, and the edit that takes it out. */
export interface Guard {
  file: string;
  line: number;
  /** The condition, in one line. */
  rule: string;
  /** Text that stands once in the file. */
  find: string;
  replace: string;
}

/** Whether a statement only refuses: it throws. */
function refuses(statement: ts.Statement): boolean {
  const only = ts.isBlock(statement) && statement.statements.length === 1 ? statement.statements[0]! : statement;
  return ts.isThrowStatement(only);
}

/** Returns the guards of a source file, in their order. Those whose text stands there twice are left out. */
export function guardsOf(file: string): Guard[] {
  const text = readFileSync(file, "utf8");
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const found: Guard[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isIfStatement(node) && node.elseStatement === undefined && refuses(node.thenStatement)) {
      const [start, end] = [node.getStart(source), node.end];
      const find = text.slice(start, end);
      const condition = node.expression.getText(source);
      const isOnce = text.split(find).length === 2;
      const rule = condition.replaceAll(/\s+/g, " ");
      // The condition goes on being asked, since it may also narrow, count or advance something.
      const replace = find.replace(condition, () => `(${condition}) && false`);
      if (isOnce) found.push({ file, line: source.getLineAndCharacterOfPosition(start).line + 1, rule, find, replace });
    }
    node.forEachChild(visit);
  };
  visit(source);
  return found;
}

/** Returns the guards of the product by their rooms: folders of `lib`, and `commands`. */
export function guardsByRoom(): Map<string, Guard[]> {
  const rooms = new Map<string, Guard[]>();
  for (const file of globSync("{lib,commands}/**/*.ts").toSorted()) {
    const room = file
      .split("/")
      .slice(0, file.startsWith("lib/") ? 2 : 1)
      .join("/");
    rooms.set(room, [...(rooms.get(room) ?? []), ...guardsOf(file)]);
  }
  return rooms;
}
