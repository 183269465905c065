import { globSync, readFileSync } from "node:fs";
import ts from "typescript";

/** `docs/contract/events.md`: the events of `--json`, from the types and calls in the sources that make them. */

const INTRODUCTION = `# Events of \`--json\`

For people whose programs read what the commands print: after this page you know each event and its fields. Made from the sources by \`npm run docs\`.

With \`--json\` each line of standard output is one JSON object with \`"v": 1\` and the name of its event. The last line is
always a \`result\`, with \`status\`, \`exit_code\` and the facts of the command; a failed one has \`code\` and \`message\`.
Names and fields of events stay as they are; new events and new fields may come, so pass over what you do not know.
`;

/** Titles of the types whose members are events, by the type's name. */
const TITLES: Record<string, string> = {
  AgentEvent: "A deployment",
  WatchEvent: "The watch loop",
  PublishEvent: "A publication",
  WaitEvent: "Waits that the hub asks for",
  DeltaEvent: "Deltas of a publication",
  UploadEvent: "An upload",
  DevEvent: "`plugin dev`",
  AppServeEvent: "`app serve`",
  AppTestEvent: "`app test`",
};

interface EventFacts {
  name: string;
  fields: string[];
  meaning: string;
}

/** Puts a text on one line, for a table cell. */
const cell = (text: string): string => text.replaceAll(/\s+/g, " ").replaceAll("|", "\\|").trim();

const literalOf = (type: ts.TypeNode | undefined): string | undefined =>
  type !== undefined && ts.isLiteralTypeNode(type) && ts.isStringLiteral(type.literal) ? type.literal.text : undefined;

/** Returns the docstring in the text between one member of a union and the next. */
const docstringIn = (text: string): string =>
  cell((/\/\*\*(.*?)\*\//s.exec(text)?.[1] ?? "").replaceAll(/^\s*\* ?/gm, ""));

/** Returns the event that an object type describes, or undefined. @param since end of the previous member */
function eventOf(node: ts.TypeLiteralNode, file: ts.SourceFile, since: number): EventFacts | undefined {
  const members = node.members.filter(ts.isPropertySignature);
  const name = literalOf(members.find((member) => member.name.getText(file) === "event")?.type);
  if (name === undefined) return undefined;
  const fields = members
    .map((member) => `${member.name.getText(file)}${member.questionToken === undefined ? "" : "?"}`)
    .filter((field) => field !== "event");
  return { name, fields, meaning: docstringIn(file.text.slice(since, node.getStart(file))) };
}

/** Returns the events of the types that a file declares, by the type's name. */
function declaredIn(file: ts.SourceFile): Map<string, EventFacts[]> {
  const found = new Map<string, EventFacts[]>();
  for (const statement of file.statements) {
    if (!ts.isTypeAliasDeclaration(statement)) continue;
    let since = statement.type.getFullStart();
    const visit = (node: ts.Node): void => {
      const event = ts.isTypeLiteralNode(node) ? eventOf(node, file, since) : undefined;
      if (event === undefined) return ts.forEachChild(node, visit);
      since = node.end;
      found.set(statement.name.text, [...(found.get(statement.name.text) ?? []), event]);
    };
    visit(statement.type);
  }
  return found;
}

/** Returns the names of the events in the objects of a statement. */
function printedIn(statement: ts.Statement): Set<string> {
  const names = new Set<string>();
  const visit = (node: ts.Node): void => {
    if (ts.isPropertyAssignment(node) && node.name.getText() === "event" && ts.isStringLiteral(node.initializer))
      names.add(node.initializer.text);
    ts.forEachChild(node, visit);
  };
  visit(statement);
  return names;
}

/** Returns a file's makers of commands from `resource`, with the first word of what they make. */
const makersIn = (text: string): Map<string, string> =>
  new Map([...text.matchAll(/const (\w+) = resource\("(\w+)"/g)].map(([, maker, noun]) => [maker!, noun!]));

/** Returns the words of the commands that a part of a file defines. */
function commandsIn(text: string, makers: ReadonlyMap<string, string>): string[] {
  const made = [...text.matchAll(/= (\w+)\(\s*"([\w-]+)"/g)]
    .filter(([, maker]) => makers.has(maker!))
    .map(([, maker, verb]) => `${makers.get(maker!)} ${verb}`);
  const listed = [...text.matchAll(/static (?:override )?(?:readonly )?paths = \[(.*?)\];|also: \[(\[.*?\])\]/gs)];
  const named = listed.flatMap(([, paths, also]) =>
    [...(paths ?? also)!.matchAll(/\[([^[\]]*)\]/g)].map(([, words]) =>
      [...words!.matchAll(/"([^"]*)"/g)].map(([, word]) => word).join(" "),
    ),
  );
  return [...made, ...named];
}

/** Returns the events that a file prints, each with the commands whose own code prints it, or else all of the file. */
function commandsByEvent(file: ts.SourceFile): [event: string, commands: string[]][] {
  const makers = makersIn(file.text);
  const all = commandsIn(file.text, makers);
  return file.statements.flatMap((statement) => {
    const own = commandsIn(statement.getText(file), makers);
    return [...printedIn(statement)].map((event): [string, string[]] => [event, own.length > 0 ? own : all]);
  });
}

/** Returns the text of the page. */
export function eventsPage(): string {
  const sections: string[] = [];
  const told = new Set<string>(["result"]);
  const lists = new Map<string, Set<string>>();
  for (const path of globSync("{lib,commands}/**/*.{ts,tsx}").toSorted()) {
    const text = readFileSync(path, "utf8");
    if (!text.includes('event: "')) continue;
    const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
    for (const [type, events] of declaredIn(file)) {
      for (const { name } of events) told.add(name);
      sections.push(`## ${TITLES[type] ?? type.replaceAll(/(?<=[a-z])(?=[A-Z])/g, " ")}`, "", ...tableOf(events), "");
    }
    for (const [name, commands] of commandsByEvent(file))
      if (commands.length > 0) lists.set(name, new Set([...(lists.get(name) ?? []), ...commands]));
  }
  const rows = [...lists]
    .filter(([name]) => !told.has(name))
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, commands]) => `| \`${name}\` | ${[...commands].map((words) => `\`${words}\``).join(", ")} |`);
  return [
    INTRODUCTION,
    ...sections,
    "## Lists and findings",
    "",
    "One line for each thing, with the fields of the table that the command shows.",
    "",
    "| event | commands |",
    "| --- | --- |",
    ...rows,
    "",
  ].join("\n");
}

const tableOf = (events: readonly EventFacts[]): string[] => [
  "| event | fields | meaning |",
  "| --- | --- | --- |",
  ...events.map(
    ({ name, fields, meaning }) => `| \`${name}\` | ${fields.map((field) => `\`${field}\``).join(", ")} | ${meaning} |`,
  ),
];
