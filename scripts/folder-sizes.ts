import { globSync, readFileSync } from "node:fs";

/** Lines above which a folder of `lib` needs a reason here. */
const LIMIT = 1500;

/** Reasons why folders of `lib` are larger than that. */
const REASONS: Readonly<Record<string, string>> = {
  "contract/files": "the formats of files, a file each: plans, manifests, applications, settings",
  "contract/surfaces": "requests and answers of each surface, and the records that several features show",
  contract: "codes, errors, blame, audit actions, and what no single surface owns",
  "hub/access": "who may do what: keys, sessions, people, and what each key hands on",
  "hub/features/rollouts":
    "rules and commands, decisions, the counts of hosts, and the parts of a target that they change",
  "hub/records": "all SQL of the hub, for two databases: a file for each table, and the migrations",
  "runtime/sandbox": "a plugin in a process of its own: start, messages, limits, end",
  apps: "the applications of a root without systemd: launch, membership, sockets, logs",
  "runtime/guest": "the other side of it, which runs beside the code of a plugin and imports nothing else",
  "agent/deployment": "deploy, roll back, remove and preview: one file for each step",
  "agent/watch": "the loop of a target, its state, events and control",
  "agent/sources": "where versions come from, and whose signatures count",
  "agent/supervisors": "who runs units: systemd, docker, the runtime and `app serve`, and how each is asked",
  "artifact/tree": "lists of files, and reading and writing them",
  "artifact/project": "sealing and opening, with the strict tar reader",
  "artifact/delta": "making and completing, with the sealed index",
  client: "the typed clients of three surfaces, and the one download",
  releases: "layout, lock, journal, switch and recovery of a project root",
  options: "each option once, with its help",
  "web/page": "what all pages share: their frame, parts and forms, and the way to the routes of the hub",
  support: "files, texts, logs, processes: small helpers of every room, a file each",
  tui: "every dashboard: what it shows, and how",
};

const linesOf = (path: string): number => readFileSync(path, "utf8").split("\n").length - 1;

/**
 * Returns the size of a folder to show, to the hundred. It stays what the page says until that is off by a tenth and
 * by more than 200 lines: otherwise each change would rewrite the page.
 */
function shownSize(table: string, folder: string, lines: number): number {
  const [, said = ""] = new RegExp(`^\\| \`${folder}\` +\\| +([\\d,]+) \\|`, "m").exec(table) ?? [];
  const before = Number(said.replaceAll(",", ""));
  return Math.abs(before - lines) <= Math.max(200, lines / 10) ? before : Math.round(lines / 100) * 100;
}

const sourcesOf = (...folders: readonly string[]): string[] =>
  folders.flatMap((folder) => globSync(`${folder}/**/*.{ts,tsx}`)).map((path) => path.replaceAll("\\", "/"));

function bySubject(paths: readonly string[], subject: (path: string) => string): Map<string, number> {
  const sums = new Map<string, number>();
  for (const path of paths) sums.set(subject(path), (sums.get(subject(path)) ?? 0) + linesOf(path));
  return sums;
}

/**
 * Returns the lines of each top folder and room, to the hundred, and each unusually large folder with its reason.
 *
 * @param page the page as it is
 * @throws Error for a large folder of `lib` without a reason, and for a reason without a large folder
 */
export function sizeTable(page: string): string {
  const lib = sourcesOf("lib");
  const folders = bySubject(lib, (path) => path.split("/").slice(1, -1).join("/"));
  const [, smaller = "", larger = ""] = page.split(/^\| folder +\|/m);
  const large = [...folders]
    .filter(([, lines]) => lines > LIMIT)
    .map(([folder, lines]) => [folder, shownSize(larger, `lib/${folder}`, lines)] as const)
    .sort(([a, more], [b, less]) => less - more || (a < b ? -1 : 1));
  for (const [folder] of large)
    if (REASONS[folder] === undefined) throw new Error(`lib/${folder} has more than ${LIMIT} lines and no reason why`);
  for (const folder of Object.keys(REASONS))
    if (!large.some(([name]) => name === folder)) throw new Error(`lib/${folder} is not that large any more`);
  const rooms = [...bySubject(lib, (path) => path.split("/").slice(0, 2).join("/"))].sort(([a], [b]) =>
    a < b ? -1 : 1,
  );
  const tops = bySubject(sourcesOf("bin", "lib", "commands", "scripts", "test"), (path) => path.split("/")[0]!);
  return [
    "| folder | lines |",
    "| --- | ---: |",
    ...[...tops, ...rooms].map(
      ([folder, lines]) => `| \`${folder}\` | ${shownSize(smaller, folder, lines).toLocaleString("en")} |`,
    ),
    "",
    `Folders of \`lib\` with more than ${LIMIT.toLocaleString("en")} lines, their own subfolders not counted:`,
    "",
    "| folder | lines | why |",
    "| --- | ---: | --- |",
    ...large.map(([folder, lines]) => `| \`lib/${folder}\` | ${lines.toLocaleString("en")} | ${REASONS[folder]} |`),
  ].join("\n");
}
