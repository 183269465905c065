/** Targets of a hub in this process, with what publishes their versions: quick enough for hundreds of them. */
import { createHash, randomBytes } from "node:crypto";
import { join } from "node:path";
import { DEFAULT_LIMITS } from "../../../lib/artifact/limits.ts";
import { publicKeyOf } from "../../../lib/artifact/signatures/ed25519.ts";
import { publishProject } from "../../../lib/publisher/publish-project.ts";
import { plant } from "../host/project-root.ts";
import { zipOf } from "./archives.ts";
import { createProject, type RunningHub } from "./harness.ts";
import { DEVELOPER_SECRET, signatureOf } from "./marketplace-hub.ts";

export interface PublishedTarget {
  /** As the command line names it. */
  name: string;
  slug: string;
  /** The folder that is installed of it, below the project root. */
  folder: string;
  /** Its options in watch.yaml, beside its project root and supervisor. */
  options: Record<string, string>;
  /** @param forged signed by somebody else */
  publish: (version: string, files?: Record<string, string>, forged?: boolean) => Promise<void>;
}

/** A plugin or service of the marketplace. Keys and plans go into `folder`. */
export async function publishedArchive(
  hub: RunningHub,
  kind: "plugin" | "service",
  slug: string,
  folder: string,
  steps = "",
): Promise<PublishedTarget> {
  await hub.call("POST", "/devkeys/projects", { json: { name: `The ${slug}`, kind, slug } });
  const [action, field] = kind === "plugin" ? ["install_plugin", "plugin"] : ["install_extension", "extension"];
  await plant(folder, {
    [`${slug}.yaml`]: `format_version: "1"\nproject_id: ${slug}\nversion: 1.0.0\nsteps:\n  - {id: install, action: ${action}, ${field}: ${slug}}\n${steps}`,
    [`${slug}.secret`]: `${DEVELOPER_SECRET}\n`,
    "api.key": `${hub.adminKey}\n`,
  });
  const mount = kind === "plugin" ? "/app/marketplace/plugins" : "/app/services/services";
  return {
    name: `${kind}:${slug}`,
    slug,
    folder: kind === "plugin" ? `plugins/${slug}` : `extensions/${slug}`,
    options: { install_plan: `${slug}.yaml`, signing_secret_file: `${slug}.secret`, api_key_file: "api.key" },
    publish: async (version, files = {}, forged = false) => {
      const archive = zipOf({
        "plugin.yaml": `name: ${slug}\nversion: ${version}\nexecution_mode: trusted\n`,
        version,
        ...files,
      });
      const form = new FormData();
      form.set("version", version);
      form.set("signature", signatureOf(archive, forged ? "somebody else's secret" : undefined));
      form.set("archive", new Blob([new Uint8Array(archive)], { type: "application/zip" }), "archive.zip");
      const answer = await hub.call("POST", `${mount}/${slug}/versions`, { form });
      if (answer.status !== 201) throw new Error(`${slug} ${version}: ${answer.status} ${answer.bytes.toString()}`);
    },
  };
}

/** A project of one plugin, whose id is `plugin`. */
export async function publishedProject(hub: RunningHub, plugin: string, folder: string): Promise<PublishedTarget> {
  const { id, key, credential } = await createProject(hub);
  const [own, others] = [randomBytes(32), randomBytes(32)];
  await plant(folder, {
    [`${id}.key`]: `${key}\n`,
    [`${id}.credential`]: `${credential}\n`,
    [`${id}.pub`]: Buffer.from(publicKeyOf(own)).toString("hex"),
  });
  return {
    name: `project:${id}`,
    slug: id,
    folder: `plugins/${plugin}`,
    options: {
      api_key_file: `${id}.key`,
      deployment_credential_file: `${id}.credential`,
      signer_public_key: `${id}.pub`,
    },
    publish: async (version, files = {}, forged = false) => {
      const sourceRoot = join(folder, createHash("sha256").update(`${id} ${version}`).digest("hex").slice(0, 16));
      await plant(sourceRoot, {
        "deployment/install.yaml": `format_version: "1"\nproject_id: ${id}\nversion: ${version}\nsteps:\n  - {id: install, action: install_plugin, plugin: ${plugin}}\n`,
        [`plugins/${plugin}/plugin.yaml`]: `name: ${plugin}\nversion: ${version}\nexecution_mode: trusted\n`,
        [`plugins/${plugin}/version`]: version,
        ...files,
      });
      await publishProject({
        sourceRoot,
        projectId: id,
        projectName: "Demo",
        version,
        include: [],
        limits: DEFAULT_LIMITS,
        signal: new AbortController().signal,
        emit: () => {},
        seed: forged ? others : own,
        level: 1,
        hub: { hubUrl: hub.url, apiKey: key, timeoutMs: 30_000 },
      });
    },
  };
}

/** The text of a watch.yaml. */
export function watchYaml(
  shared: Record<string, unknown>,
  targets: readonly { target: string; [option: string]: unknown }[],
): string {
  // JSON is YAML.
  return JSON.stringify({ ...shared, targets }, null, 2);
}
