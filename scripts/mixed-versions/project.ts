import { randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Programs } from "../quickstart/programs.ts";

export type Secrets = Record<string, string>;

export type Edition = Readonly<{ name: string; programs: Programs }>;

/** Project with its keys, and the files of its publisher. */
export interface Project {
  id: string;
  files: string;
  publisher: Secrets;
  host: Secrets;
}

/** URL of the hub that runs now. */
let hubUrl = "";

/** Starts a hub, and returns what its administrator's commands need. */
export async function startHub({ programs }: Edition, data: string): Promise<Secrets> {
  hubUrl = await programs.serve("hub-serve", ["--data-dir", data, "--listen", "127.0.0.1:0"]);
  return { SEALIFT_HUB_URL: hubUrl, SEALIFT_API_KEY: readFileSync(join(data, "admin.key"), "utf8").trim() };
}

export async function createProject({ name, programs }: Edition, admin: Secrets, files: string): Promise<Project> {
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

export async function publish({ programs }: Edition, project: Project, version: string): Promise<void> {
  const source = join(project.files, "source");
  const plan = `format_version: "1"\nproject_id: ${project.id}\nversion: ${version}\nsteps:\n  - { id: greeter, action: install_plugin, plugin: greeter }\n`;
  mkdirSync(join(source, "deployment"), { recursive: true });
  writeFileSync(join(source, "deployment/install.yaml"), plan);
  const key = join(project.files, "keys/signer.key");
  const args = [source, "--project-id", project.id, "--version", version, "--signing-key-file", key];
  await programs.run("deploy-publish", args, { ...project.publisher, SEALIFT_HUB_URL: hubUrl });
}

/** Deploys the latest version, and asks the hub which one it knows of the host. @returns whether a delta was used */
export async function deploy(agent: Edition, project: Project, host: string, version: string): Promise<boolean> {
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
