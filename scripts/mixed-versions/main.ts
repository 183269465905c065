/**
 * `npm run mixed-versions`: this version and earlier releases, together, as the real programs of each. Begins with
 * 0.2.0: settings of a fleet, which it does not know; an application that is asked while its host goes from 0.2.0 to
 * this version and back; a host and a hub on what the other version wrote; the hub of one with all that people and
 * hosts do in the other. The last is tried with 0.1.0, too. So are a hub of each, publishers and agents of each,
 * runtimes of each on what they deployed, and this version's hub on the data of the release. Prints a line for each,
 * and ends with 1 when something failed. With `--short` 0.2.0 alone; with `--settings`, `--applications` or `--hosts`
 * that part alone. Older versions are built once, in the user's cache.
 */
import { randomBytes } from "node:crypto";
import { chmodSync, cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { scriptArguments } from "../arguments.ts";
import { buildOf, RELEASES } from "../older-build.ts";
import { Programs } from "../quickstart/programs.ts";
import { applicationJobs } from "./applications.ts";
import { hostJobs } from "./hosts.ts";
import { jobsOf } from "./jobs.ts";
import { createProject, deploy, type Edition, type Project, publish, startHub } from "./project.ts";
import { settingsJobs } from "./settings.ts";

const TODAY = fileURLToPath(new URL("../..", import.meta.url));

let failures = 0;

/** Plays one part, and prints how it went. */
async function play(what: string, part: () => Promise<string>): Promise<void> {
  try {
    console.log(`ok    ${what}: ${await part()}`);
  } catch (thrown) {
    failures++;
    console.log(`FAIL  ${what}: ${(thrown as Error).message}`);
  }
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
  const flag = { type: "boolean", default: false } as const;
  const { values } = scriptArguments(import.meta.filename, {
    options: { short: flag, settings: flag, applications: flag, hosts: flag },
  });
  const isOne = values.settings || values.applications || values.hosts;
  const folder = mkdtempSync(join(tmpdir(), "sealift-mixed-"));
  // Started as root, a runtime gives its sandboxes another user, who has to find the plugins.
  chmodSync(folder, 0o755);
  const edition = (name: string, checkout: string): Edition => ({ name, programs: new Programs(folder, checkout) });
  const today = edition("today", TODAY);
  const { root: rootBefore } = buildOf(RELEASES["0.2.0"]);
  const before = edition("0.2.0", rootBefore);
  const serving = { today: edition("today", TODAY), before: edition("0.2.0", rootBefore) };
  // With --short only today's: the build of 0.1.0 is left out, too.
  const editions = [...(values.short || isOne ? [] : [edition("0.1.0", buildOf(RELEASES["0.1.0"]).root)]), today];
  /** Ends everything of all editions that is still running. */
  const stop = async () => {
    for (const { programs } of [...editions, before, serving.today, serving.before]) await programs.stop();
  };
  try {
    const settings = settingsJobs({ today, before, folder: join(folder, "settings") });
    const applications = applicationJobs({ today, before, serving, folder: join(folder, "applications") });
    const hosts = hostJobs({ today, before, folder: join(folder, "hosts") });
    for (const [part, jobs] of Object.entries({ settings, applications, hosts })) {
      if (isOne && !values[part as "settings" | "applications" | "hosts"]) continue;
      for (const [what, job] of Object.entries(jobs)) await play(`${part}, ${what}`, job);
      await stop();
    }
    if (isOne) return;
    for (const [hub, others] of [
      [today, before],
      [before, today],
      ...editions
        .filter((edition) => edition !== today)
        .flatMap((last) => [[today, last] as const, [last, today] as const]),
    ] as const) {
      const jobs = jobsOf({ hub, others, folder: join(folder, "jobs", `${hub.name}-${others.name}`) });
      for (const [what, job] of Object.entries(jobs))
        await play(`hub ${hub.name}, others ${others.name}, ${what}`, job);
      await stop();
    }
    if (values.short) return;
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
    if (failures > 0) process.exitCode = 1;
  }
}

await main();
