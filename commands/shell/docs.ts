import { spawn } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Command, type CommandClass, Option } from "clipanion";
import { usageError } from "../../lib/contract/errors.ts";
import { packageFolder } from "../../lib/support/package-folder.ts";
import { closestTo } from "../../lib/support/suggestion.ts";
import { withOptions } from "./base.ts";
import { showList } from "./output/listing.ts";

/** Exit code of a shell that does not find a program. */
const NO_PROGRAM = 127;

/** Pages of commands that neither their first word nor their category determines. */
const PAGES: Record<string, string> = {
  artifact: "contract/delta",
  completion: "installing",
  context: "agent",
  doctor: "troubleshooting",
  fleet: "watch",
  "fleet back": "rollouts",
  "fleet label": "rollouts",
  "fleet out": "rollouts",
  "fleet wait": "ci",
  grant: "versions",
  host: "enrolling",
  "hub move": "scaling",
  "hub quota list": "scaling",
  "hub quota remove": "scaling",
  "hub quota set": "scaling",
  "hub retain": "scaling",
  invite: "enrolling",
  join: "enrolling",
  key: "hub",
  login: "agent",
  logout: "agent",
  pin: "watch",
  plugin: "sdk",
  project: "versions",
  "project deploy": "agent",
  "project publish": "getting-started",
  publisher: "ci",
  rollback: "troubleshooting",
  "self-check": "installing",
  settings: "settings",
  signer: "security",
  stage: "ci",
  "trust-folder": "options",
  unpin: "watch",
  upgrade: "installing",
};

/** Former topics, with the pages that now have their text. */
export const FORMER: Record<string, string> = {
  "bad-day": "troubleshooting",
  "contract/webhooks": "webhooks",
  deltas: "contract/delta",
  signers: "security",
  traces: "metrics",
  upgrading: "installing",
  web: "hub",
};

const OF_CATEGORY: Record<string, string> = {
  Applications: "applications",
  Approval: "ci",
  Deploying: "agent",
  Hosts: "enrolling",
  Hub: "hub",
  Keys: "hub",
  Operating: "agent",
  Publishing: "versions",
  Rollouts: "rollouts",
  Runtime: "runtime",
  Settings: "settings",
  Signers: "trust",
};

/** Returns the page that explains a command. */
export function pageOf({ paths = [], usage }: CommandClass, pages: ReadonlyMap<string, string>): string {
  const [words = []] = paths;
  const [first = ""] = words;
  const named = [first, `${first}s`].find((name) => pages.has(name));
  return PAGES[words.join(" ")] ?? PAGES[first] ?? named ?? OF_CATEGORY[usage?.category ?? ""]!;
}

/** Returns the pages of this package, by names such as `hub` and `contract/host`, with their files. */
export function docPages(folder = join(packageFolder(), "docs")): Map<string, string> {
  const files = globSync("**/*.md", { cwd: folder }).toSorted();
  return new Map(files.map((file) => [file.replace(/(?:\/README)?\.md$/, ""), join(folder, file)]));
}

/** Returns the text of a page, without marks for its tests. */
const textOf = (file: string): string => readFileSync(file, "utf8").replaceAll(/<!--[\s\S]*?-->\n*/g, "");

export class Docs extends withOptions({}) {
  static override paths = [["docs"]];
  static override listed = () => ["topic", "title"];
  static override usage = Command.Usage({
    category: "Operating",
    description: "Open a page of the documents, by topic or command",
    details: `
      Without an argument lists the topics. A page is shown by the program in \`PAGER\`, else by less; where output is
      not a terminal it is printed. The pages are those of this version, and need no network.
    `,
    examples: [
      ["The topics", "$0 docs"],
      ["A topic", "$0 docs rollouts"],
      ["The page of a command", "$0 docs rollout start"],
    ],
  });

  words = Option.Rest({ name: "TOPIC" });

  override async run(): Promise<number> {
    const pages = docPages();
    const words = this.words.join(" ");
    if (words === "") return this.#list(pages);
    const { ROLES } = await import("./completion/tree.ts");
    const called = ROLES[words] ?? words;
    const named = this.commands.flatMap((command) =>
      (command.paths ?? []).map((path) => [path.join(" "), command] as const),
    );
    const [, command] =
      named.find(([name]) => name === called) ?? named.find(([name]) => name.startsWith(`${called} `)) ?? [];
    const topic = pages.has(words) ? words : (FORMER[words] ?? (command && pageOf(command, pages)));
    if (topic === undefined) {
      const meant = closestTo(words, [...pages.keys(), ...named.map(([name]) => name)]);
      const hint = meant === undefined ? "`sealift docs` lists the topics." : `Did you mean ${meant}?`;
      throw usageError("usage", `No page and no command is called ${JSON.stringify(words)}.`, { hint });
    }
    const text = textOf(pages.get(topic)!);
    if (this.json) return this.done({ topic, text });
    if (!this.isForPeople || !(await paged(text))) for (const line of text.trimEnd().split("\n")) this.print.line(line);
    return this.done({});
  }

  #list(pages: ReadonlyMap<string, string>): Promise<number> {
    const topics = [...pages].map(([topic, file]) => ({ topic, title: /^# (.*)/m.exec(textOf(file))?.[1] ?? "" }));
    const columns = { TOPIC: ({ topic }: { topic: string }) => topic, TITLE: ({ title }: { title: string }) => title };
    return showList(this.surroundings(), { event: "topic", rows: topics, columns });
  }
}

/** Shows a text in the person's pager. @returns false without a pager */
function paged(text: string): Promise<boolean> {
  // Ctrl-C is the pager's.
  const ignore = () => undefined;
  process.on("SIGINT", ignore);
  const pager = spawn(process.env["PAGER"] || "less", { shell: true, stdio: ["pipe", "inherit", "ignore"] });
  pager.stdin.on("error", ignore);
  pager.stdin.end(text);
  return new Promise((resolve, reject) => {
    pager.once("error", reject).once("close", (code) => {
      process.off("SIGINT", ignore);
      resolve(code !== NO_PROGRAM);
    });
  });
}
