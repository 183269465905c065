import { execFileSync } from "node:child_process";
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { zipOf } from "../../support/hub/archives.ts";
import { localFeatures } from "../../support/hub/features.ts";
import { createProject, publication, startHub } from "../../support/hub/harness.ts";
import { signerHex } from "../../support/hub/joining.ts";
import { fillShownHub, pagesOf } from "../../support/hub/shown-hub.ts";
import { Visitor } from "../../support/hub/web.ts";
import { commandLine } from "../../support/programs/command-line.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

/** The ends of command lines that say what was typed wrong, or not at all. */
const MISTYPED = 2;

const ENTITIES: Record<string, string> = { lt: "<", gt: ">", amp: "&", quot: '"', "#x27": "'" };

/** The command lines of a page that have a Copy button. */
const commandsOf = (html: string): string[] =>
  [...html.matchAll(/<div class="command" data-copy="">.*?<code>(sealift .*?)<\/code>/gs)].map(([, text]) =>
    text!.replaceAll(/&([^;]+);/g, (_, name: string) => ENTITIES[name]!),
  );

/** The install plan that an operator has of a plugin or service. */
const planOf = (slug = "none") =>
  `format_version: "1"\nproject_id: ${slug}\nsteps:\n  - id: prepare\n    action: prepare\n`;

/** The words that a shell makes of a command line. */
const wordsOf = (line: string, cwd: string): string[] =>
  execFileSync("sh", ["-c", `sealift() { printf '%s\\0' "$@" >&3; }\n${line} 3>words`], { cwd }) &&
  readFileSync(join(cwd, "words"), "utf8").split("\0").slice(0, -1);

/** Adds to a command that would go on, ask, or touch this machine, what keeps it from that. */
function bounded(words: string[], folder: string, dataDir: string): string[] {
  const [command, second] = words;
  if (command === "watch") return [...words, "--once"];
  if (command === "join") return [...words, "--yes", "--out", folder, "--project-root", join(folder, "root")];
  if (command === "hub" && second === "backup")
    return [...words.map((word) => (word.startsWith("/") ? join(folder, "backup") : word)), "--data-dir", dataDir];
  return words;
}

t.test("whoever pastes a command of a page, beside the files that it names, has forgotten nothing", async (t) => {
  const hub = await startHub(t, localFeatures());
  const { project, pluginId } = await fillShownHub(hub, { hosts: 1 });
  const empty = await createProject(hub);
  const bare = await startHub(t, { dataDir: join(temporaryFolder(t), "hub") });
  const folder = temporaryFolder(t);
  const files = {
    "hub.key": hub.adminKey,
    "developer.secret": "the developer's own secret",
    "host.credential": project.credential,
    "receiver.url": "https://127.0.0.1:9/",
  };
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
  for (const slug of ["berth-board", "crane-log", "fog-signal", "pilot-roster"])
    writeFileSync(join(folder, `${slug}.zip`), zipOf({ "plugin.yaml": `name: ${slug}\n` }));
  cpSync("examples/harbour", folder, { recursive: true });
  const plan = join(folder, "deployment/install.yaml");
  writeFileSync(plan, readFileSync(plan, "utf8").replace(/^project_id: .*/m, `project_id: ${empty.id}`));
  const env = { PATH: process.env.PATH, XDG_CONFIG_HOME: join(folder, "config") };
  t.equal((await commandLine(["signer", "create", "--out", "."], { cwd: folder, env })).code, 0);
  cpSync(join(folder, "signer.key"), join(folder, "backup.key"));
  await project.publish(publication("2.0.0"), { changes: { stage: "true" } });

  const admin = await new Visitor(hub.url).signIn(hub.adminKey);
  const pages = [
    ...Object.values(pagesOf(project.id)),
    ...[
      "/plugins/fog-signal",
      "/plugins/fog-signal/fleet",
      "/plugins/fog-signal/rollouts",
      "/services/chart-store/fleet",
    ],
    ...["", "/fleet", "/rollouts", "/hosts"].map((page) => `/projects/${empty.id}${page}`),
    ...[`/staging/${project.id}/2.0.0`, `/staging/${pluginId}/1.3.0`],
  ];
  const found = new Set<string>();
  for (const page of pages) for (const line of commandsOf((await admin.request(page)).html)) found.add(line);
  const fresh = await new Visitor(bare.url).signIn(bare.adminKey);
  for (const page of ["/", "/?kind=service", "/projects", "/fleets", "/webhooks", "/publishers", "/staging"])
    for (const line of commandsOf((await fresh.request(page)).html)) found.add(line);
  const hosts = `/projects/${project.id}/hosts`;
  const signers = signerHex();
  const invited = await admin.submit(hosts, `${hosts}/invites`, { uses: "1", hours: "1", signers });
  writeFileSync(join(folder, "join.token"), /<code>([^<]+)<\/code>/.exec(invited.html)![1]!);
  for (const line of commandsOf(invited.html)) found.add(line);

  const asked = { ...env, SEALIFT_HUB_URL: hub.url, SEALIFT_API_KEY: hub.adminKey };
  for (const line of found) {
    t.notMatch(line, /[A-Z]{4,}|…/, `${line}: nothing is left to be filled in`);
    const words = bounded(wordsOf(line, temporaryFolder(t)), folder, hub.dataDir);
    const slug = words.find((word) => /^(?:(?:plugin|service):)?[a-z]+-[a-z]+$/.test(word));
    writeFileSync(join(folder, "install.yaml"), planOf(slug?.replace(/^.*:/, "")));
    const { code, stdout, stderr } = await commandLine(words, { cwd: folder, env: asked });
    t.not(code, MISTYPED, `${line}\n${stdout}${stderr}`);
    t.notMatch(stderr, /(?:is|are) missing/, line);
  }
  const commands = new Set([...found].map((line) => line.split(" ").slice(1, 3).join(" ")));
  for (const command of [
    ...["marketplace deploy", "marketplace publish", "project deploy", "project publish", "project create"],
    ...["rollout start", "host invite", "webhook add", "hub backup", "stage diff"],
  ])
    t.ok(commands.has(command), `${command} is offered somewhere`);
  t.ok([...found].some((line) => line.startsWith("sealift watch ")));
  t.ok([...found].some((line) => line.startsWith("sealift join ")));
});
