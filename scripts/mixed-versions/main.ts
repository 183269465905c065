/**
 * `npm run mixed-versions`: this version and the last release, together, as the real programs of each. A hub of each,
 * publishers of each, agents of each; then runtimes of each on what they deployed, and this version's hub on the data
 * of the release, opened. Prints a line for each, and ends with 1 when something failed. The release is built in a
 * temporary folder, or in the one of the first argument, which keeps it.
 */
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { scriptArguments } from "../arguments.ts";
import { Programs } from "../quickstart/programs.ts";

/** Commit of the last release: until there is one, the first commit whose database this version opens. */
const RELEASE = "99aff4b0";
const TODAY = fileURLToPath(new URL("../..", import.meta.url));

type Secrets = Record<string, string>;

type Edition = Readonly<{ name: string; programs: Programs }>;

/** Project with its keys, and the files of its publisher. */
interface Project {
  id: string;
  files: string;
  publisher: Secrets;
  host: Secrets;
}

let failures = 0;
/** URL of the hub that runs now. */
let hubUrl = "";

/** Plays one part, and prints how it went. */
async function play(what: string, part: () => Promise<string>): Promise<void> {
  try {
    console.log(`ok    ${what}: ${await part()}`);
  } catch (thrown) {
    failures++;
    console.log(`FAIL  ${what}: ${(thrown as Error).message}`);
  }
}

function build(commit: string, folder: string): string {
  const checkout = join(folder, commit);
  if (existsSync(join(checkout, "dist/bin/sealift.js"))) return checkout;
  execFileSync("git", ["worktree", "add", "--force", "--detach", checkout, commit], { cwd: TODAY });
  for (const args of [
    ["ci", "--no-audit", "--no-fund"],
    ["run", "build"],
  ])
    execFileSync("npm", args, { cwd: checkout, stdio: ["ignore", "ignore", "inherit"] });
  return checkout;
}

/** Starts a hub, and returns what its administrator's commands need. */
async function startHub({ programs }: Edition, data: string): Promise<Secrets> {
  hubUrl = await programs.serve("hub-serve", ["--data-dir", data, "--listen", "127.0.0.1:0"]);
  return { SEALIFT_HUB_URL: hubUrl, SEALIFT_API_KEY: readFileSync(join(data, "admin.key"), "utf8").trim() };
}

async function createProject({ name, programs }: Edition, admin: Secrets, files: string): Promise<Project> {
  const { project } = await programs.run<{ project: { slug: string } }>("sealift", ["project", "create", name], admin);
  const newKey = async (...flags: string[]): Promise<Secrets> => {
    const args = ["key", "create", "--name", name, "--project", project.slug, ...flags];
    const { key } = await programs.run<{ key: { key: string; deployment_credential: string } }>("sealift", args, admin);
    return { SEALIFT_API_KEY: key.key, SEALIFT_DEPLOYMENT_CREDENTIAL: key.deployment_credential };
  };
  mkdirSync(files, { recursive: true });
  await programs.run("sealift", ["signer", "create", "--out", join(files, "keys")], {});
  const plugin = join(files, "source/plugins/greeter");
  await programs.run("sealift", ["plugin", "init", "greeter", "--directory", plugin], {});
  // The same in every version, so that a delta is much smaller than the artifact.
  writeFileSync(join(plugin, "charts.bin"), randomBytes(1024 * 1024));
  return { id: project.slug, files, publisher: await newKey("--scope", "publish"), host: await newKey() };
}

async function publish({ programs }: Edition, project: Project, version: string): Promise<void> {
  const source = join(project.files, "source");
  const plan = `format_version: "1"\nproject_id: ${project.id}\nversion: ${version}\nsteps:\n  - { id: greeter, action: install_plugin, plugin: greeter }\n`;
  mkdirSync(join(source, "deployment"), { recursive: true });
  writeFileSync(join(source, "deployment/install.yaml"), plan);
  const key = join(project.files, "keys/signer.key");
  const args = [source, "--project-id", project.id, "--version", version, "--signing-key-file", key];
  await programs.run("deploy-publish", args, { ...project.publisher, SEALIFT_HUB_URL: hubUrl });
}

/** Deploys the latest version, and asks the hub which one it knows of the host. @returns whether a delta was used */
async function deploy(agent: Edition, project: Project, host: string, version: string): Promise<boolean> {
  const secrets = { ...project.host, SEALIFT_HUB_URL: hubUrl };
  let byDelta = false;
  const { version: deployed } = await agent.programs.run<{ version: string }>(
    "deploy-project",
    [
      ...["--project-id", project.id, "--signer-public-key", join(project.files, "keys/signer.pub")],
      ...["--project-root", join(project.files, host), "--host-id", host],
    ],
    secrets,
    ({ event }) => (byDelta ||= event === "delta.chosen"),
  );
  if (deployed !== version) throw new Error(`${deployed} was deployed, and not ${version}`);
  let seen: unknown;
  await agent.programs.run("sealift", ["fleet", `project:${project.id}`], secrets, (event) => {
    if (event.event === "host" && event.host_id === host) seen = `${String(event.version)} ${String(event.status)}`;
  });
  if (seen !== `${version} success`) throw new Error(`the fleet shows ${String(seen)}`);
  return byDelta;
}

async function call({ programs }: Edition, root: string): Promise<string> {
  const config = join(root, "integration.yaml");
  writeFileSync(config, "app:\n  name: mixed\n  secret_key: ${MIXED_PLUGIN_KEY}\n");
  const key = randomBytes(24).toString("base64url");
  const url = await programs.serve("runtime-serve", ["--config", config, "--listen", "127.0.0.1:0"], {
    MIXED_PLUGIN_KEY: key,
  });
  const answer = await fetch(`${url}/plugin/ipc/greeter/greet`, {
    method: "POST",
    headers: { "x-plugin-key": key, "content-type": "application/json" },
    body: '{"payload":{"name":"Ada"}}',
    signal: AbortSignal.timeout(30_000),
  });
  const text = await answer.text();
  if (!answer.ok || !text.includes("Ada")) throw new Error(`answered ${answer.status}: ${text}`);
  return "answered";
}

async function main(): Promise<void> {
  const [keeping] = scriptArguments(import.meta.filename, { allowPositionals: true }).positionals;
  const folder = mkdtempSync(join(tmpdir(), "sealift-mixed-"));
  const kept = keeping === undefined ? undefined : resolve(keeping);
  const checkouts = kept ?? join(folder, "checkouts");
  // Started as root, a runtime gives its sandboxes another user, who has to find the plugins.
  chmodSync(folder, 0o755);
  const edition = (name: string, checkout: string): Edition => ({ name, programs: new Programs(folder, checkout) });
  const today = edition("today", TODAY);
  const editions = [edition(RELEASE, build(RELEASE, checkouts)), today];
  /** Ends everything of all editions that is still running. */
  const stop = async () => {
    for (const { programs } of editions) await programs.stop();
  };
  try {
    for (const hub of editions) {
      const data = join(folder, "hubs", hub.name);
      const admin = await startHub(hub, data);
      const projects: Project[] = [];
      for (const publisher of editions) {
        const files = join(folder, "projects", hub.name, publisher.name);
        await play(`hub ${hub.name}, publisher ${publisher.name}`, async () => {
          const project = await createProject(publisher, admin, files);
          projects.push(project);
          await publish(publisher, project, "1.0.0");
          for (const agent of editions) await deploy(agent, project, agent.name, "1.0.0");
          await publish(publisher, project, "1.1.0");
          return "published 1.0.0 and 1.1.0";
        });
        const project = projects.at(-1)!;
        for (const agent of editions)
          await play(`hub ${hub.name}, publisher ${publisher.name}, agent ${agent.name}`, async () => {
            if (!(await deploy(agent, project, agent.name, "1.1.0"))) throw new Error("came without a delta");
            return "1.0.0, then 1.1.0 by a delta, seen in the fleet";
          });
      }
      const backup = join(folder, "backups", hub.name);
      if (hub === today)
        await hub.programs.run("sealift", ["hub", "backup", "--data-dir", data, "--to", backup, "--unsigned"], {});
      await stop();
      const opens = async (place: string, host: string) => {
        await startHub(today, place);
        for (const project of projects) await deploy(today, project, host, "1.1.0");
        await publish(today, projects[0]!, "1.2.0");
        return `${projects.length} projects deployed, one published`;
      };
      await play(`data of hub ${hub.name} in hub today`, () => opens(data, "moved"));
      await stop();
      // A backup is for the version that made it.
      if (hub !== today) continue;
      await play(`backup of hub ${hub.name} restored by today`, async () => {
        const place = join(folder, "restored", hub.name);
        const args = ["hub", "restore", "--backup", backup, "--data-dir", place, "--unsigned"];
        await today.programs.run("sealift", args, {});
        for (const file of ["kek.json", "admin.key"]) cpSync(join(data, file), join(place, file));
        return opens(place, "restored");
      });
      await stop();
    }
    for (const runtime of editions)
      for (const publisher of editions)
        for (const agent of editions) {
          const root = join(folder, "projects/today", publisher.name, agent.name);
          const what = `runtime ${runtime.name}, plugin ${publisher.name}, agent ${agent.name}`;
          await play(what, () => call(runtime, root));
          await stop();
        }
  } finally {
    await stop();
    rmSync(folder, { recursive: true, force: true });
    execFileSync("git", ["worktree", "prune"], { cwd: TODAY });
  }
  if (failures > 0) process.exitCode = 1;
}

await main();
