import { hash } from "node:crypto";
import { cp, mkdtemp, readdir, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Programs, type ResultEvent } from "../../../scripts/quickstart/programs.ts";

const EXAMPLE = fileURLToPath(new URL("../../../examples/harbour", import.meta.url));

export interface CreatedKey {
  id: string;
  key: string;
  deployment_credential: string;
}

/**
 * A hub, a project with its keys and a source tree: what every end-to-end test starts from. All of it real programs.
 */
export class World implements AsyncDisposable {
  readonly folder: string;
  readonly programs: Programs;
  hubUrl = "";
  projectId = "";
  admin: Record<string, string> = {};
  hostKey!: CreatedKey;

  private constructor(folder: string) {
    this.folder = folder;
    this.programs = new Programs(folder);
  }

  static async make(hubArgs: readonly string[] = [], hubEnvironment: Record<string, string> = {}): Promise<World> {
    const world = new World(await mkdtemp(join(tmpdir(), "sealift-e2e-")));
    world.hubUrl = await world.programs.serve(
      "hub-serve",
      ["--data-dir", world.path("hub"), "--listen", "127.0.0.1:0", ...hubArgs],
      hubEnvironment,
    );
    world.admin = {
      SEALIFT_HUB_URL: world.hubUrl,
      SEALIFT_API_KEY: (await readFile(world.path("hub", "admin.key"), "utf8")).trim(),
    };
    const { project } = await world.programs.run<{ project: { slug: string } }>(
      "sealift",
      ["project", "create", "Harbour"],
      world.admin,
    );
    world.projectId = project.slug;
    world.hostKey = await world.newKey("host", ["deploy", "report", "read"]);
    await world.programs.run("sealift", ["signer", "create", "--out", world.path("keys")], {});
    await cp(EXAMPLE, world.path("source"), { recursive: true });
    return world;
  }

  path(...parts: string[]): string {
    return join(this.folder, ...parts);
  }

  async newKey(name: string, scopes: readonly string[]): Promise<CreatedKey> {
    const flags = scopes.flatMap((scope) => ["--scope", scope]);
    const { key } = await this.programs.run<{ key: CreatedKey }>(
      "sealift",
      ["key", "create", "--name", name, "--project", this.projectId, ...flags],
      this.admin,
    );
    return key;
  }

  /** Gives the source tree a version, so that each published tree is told apart by what it holds. */
  async setVersion(version: string): Promise<void> {
    const edit = async (file: string, change: (text: string) => string): Promise<void> =>
      writeFile(this.path("source", file), change(await readFile(this.path("source", file), "utf8")));
    await edit("deployment/install.yaml", (text) =>
      text
        .replace(/^project_id: .*$/m, `project_id: ${this.projectId}`)
        .replace(/^version: .*$/m, `version: ${version}`),
    );
    await edit("plugins/tide-table/plugin.yaml", (text) => text.replace(/^version: .*$/m, `version: ${version}`));
  }

  publishArgs(version: string): string[] {
    return [
      this.path("source"),
      ...["--project-id", this.projectId, "--version", version, "--signing-key-file", this.path("keys", "signer.key")],
    ];
  }

  async publish(version: string): Promise<ResultEvent & { outcome: string; content_sha256: string }> {
    await this.setVersion(version);
    return this.programs.run("deploy-publish", this.publishArgs(version), this.admin);
  }

  hostSecrets(): Record<string, string> {
    return {
      SEALIFT_HUB_URL: this.hubUrl,
      SEALIFT_API_KEY: this.hostKey.key,
      SEALIFT_DEPLOYMENT_CREDENTIAL: this.hostKey.deployment_credential,
    };
  }

  deployArgs(root: string): string[] {
    return [
      "--project-id",
      this.projectId,
      "--signer-public-key",
      this.path("keys", "signer.pub"),
      "--project-root",
      root,
    ];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.programs[Symbol.asyncDispose]();
    await rm(this.folder, { recursive: true, force: true });
  }
}

/**
 * Every file that a host's plugins see, by path, with a digest of its bytes; `data/` belongs to the host and is left
 * out.
 */
export async function installedFiles(root: string): Promise<Record<string, string>> {
  const files: Record<string, string> = {};
  const walk = async (folder: string, shown: string): Promise<void> => {
    for (const entry of await readdir(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) await walk(path, `${shown}/${entry.name}`);
      else if (entry.isFile()) files[`${shown}/${entry.name}`] = hash("sha256", await readFile(path), "hex");
    }
  };
  for (const section of ["plugins", "extensions"]) {
    for (const entry of await readdir(join(root, section), { withFileTypes: true }).catch(() => [])) {
      if (entry.isSymbolicLink())
        await walk(await realpath(join(root, section, entry.name)), `${section}/${entry.name}`);
      else files[`${section}/${entry.name}`] = "not a link";
    }
  }
  return files;
}

/** Staging folders, temporary links and unfinished releases that are left in a project root. */
export async function leftovers(root: string): Promise<string[]> {
  const found = await readdir(join(root, ".sealift"), { recursive: true });
  return found.filter((path) => /\.staging-|\.link-|\.seed-|\.tmp$|journal\.json$|lock\.holder$/.test(path));
}
