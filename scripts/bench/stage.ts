import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { bin, type Measured, type Program, programsOf } from "./measure.ts";

/** zstd level of publications, and of their rivals. */
export const LEVEL = "3";

/** Hub process, which ends with the scope. */
export interface BenchHub extends AsyncDisposable {
  process: ChildProcess;
  url: string;
  admin: Record<string, string> & { SEALIFT_HUB_URL: string; SEALIFT_API_KEY: string };
}

/**
 * Starts a hub on a data folder.
 *
 * @param programs variables that programs need to reach it, beside its address
 * @param root of the checkout whose hub it is; default: this one
 */
export async function serveHub(
  dataDir: string,
  more: readonly string[] = [],
  programs: Record<string, string> = {},
  root?: string,
): Promise<BenchHub> {
  const args = [bin("hub-serve", root), "--data-dir", dataDir, "--listen", "127.0.0.1:0", "--json", ...more];
  const env = { PATH: process.env.PATH };
  const hub = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "ignore"], env });
  const [line] = (await once(hub.stdout, "data")) as [Buffer];
  const { url } = JSON.parse(line.toString()) as { url: string };
  const apiKey = readFileSync(join(dataDir, "admin.key"), "utf8").trim();
  return {
    process: hub,
    url,
    admin: { ...programs, SEALIFT_HUB_URL: url, SEALIFT_API_KEY: apiKey },
    async [Symbol.asyncDispose]() {
      const exited = once(hub, "exit");
      hub.kill("SIGTERM");
      await exited;
    },
  };
}

/** Starts a hub in a new folder, which is removed with the scope. @param programs, root as for {@link serveHub} */
export async function openHub(
  folder: string,
  more: readonly string[] = [],
  programs: Record<string, string> = {},
  root?: string,
): Promise<BenchHub> {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const hub = await serveHub(join(folder, "hub"), more, programs, root);
  return {
    ...hub,
    async [Symbol.asyncDispose]() {
      await hub[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Hub process, with a project on it and what publisher and host need. */
export interface Stage extends AsyncDisposable {
  /** Publishes and deploys. */
  program: Program;
  folder: string;
  projectId: string;
  hub: ChildProcess;
  publisher: Record<string, string>;
  host: Record<string, string>;
}

/** @param programs, root as for {@link serveHub}; the stage's programs are of that checkout, too */
export async function openStage(
  folder: string,
  hubOptions: readonly string[] = [],
  programs: Record<string, string> = {},
  root?: string,
): Promise<Stage> {
  const hub = await openHub(folder, hubOptions, programs, root);
  const program = programsOf(root);
  const created = await program("sealift", ["project", "create", "Bench", "--json"], hub.admin);
  const projectId = (JSON.parse(created.stdout) as { project: { slug: string } }).project.slug;
  const host = ["--name", "host", "--project", projectId, "--json"];
  const made = await program("sealift", ["key", "create", ...host], hub.admin);
  const { key } = JSON.parse(made.stdout) as { key: { key: string; deployment_credential: string } };
  await program("sealift", ["signer", "create", "--out", join(folder, "keys")]);
  return {
    ...{ program, folder, projectId, hub: hub.process, publisher: hub.admin },
    host: {
      ...{ ...hub.admin, SEALIFT_API_KEY: key.key },
      SEALIFT_DEPLOYMENT_CREDENTIAL: key.deployment_credential,
    },
    [Symbol.asyncDispose]: () => hub[Symbol.asyncDispose](),
  };
}

export const publish = (
  { program: runs, folder, projectId, publisher }: Stage,
  source: string,
  version: string,
  level = LEVEL,
  more: readonly string[] = [],
): Promise<Measured> =>
  runs(
    "deploy-publish",
    [
      ...[source, "--project-id", projectId, "--version", version, "--level", level],
      ...["--signing-key-file", join(folder, "keys", "signer.key"), ...more],
    ],
    { ...publisher, TMPDIR: folder },
  );

/** Deploys into a project root, which may already have a version. */
export const deployTo = (
  { program: runs, folder, projectId, host }: Stage,
  version: string,
  root: string,
  more: readonly string[] = [],
): Promise<Measured> =>
  runs(
    "deploy-project",
    [
      ...["--project-id", projectId, "--version", version, "--project-root", root, "--json"],
      ...["--signer-public-key", join(folder, "keys", "signer.pub"), ...more],
    ],
    host,
  );
