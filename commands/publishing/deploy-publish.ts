import { Command, Option } from "clipanion";
import { usageError } from "../../lib/contract/errors.ts";
import type { BuildOptions, PublishEvent } from "../../lib/publisher/publish-project.ts";
import type { Settings } from "../../lib/support/settings.ts";
import { DEPLOY_TIMEOUT_MS, HubCommand, hubConnection } from "../hub/hub-options.ts";
import { interruptible } from "../shell/base.ts";
import { limitOptions, limitsFrom } from "../shell/limit-options.ts";

export class DeployPublish extends HubCommand {
  static override paths = [["deploy-publish"]];
  static override usage = Command.Usage({
    category: "Publishing",
    description: "Build, sign and publish a project",
    details: `
      Packs the source tree into an artifact (tar, zstd, AES-256-GCM), signs it with Ed25519 and uploads it. Publishing the same tree under
      the same version again changes nothing and ends with 0.

      Never packed are version control, caches, virtual environments, \`.env\`, keys and databases; \`--include\` brings a pattern back and
      \`--dry-run\` lists what is left out. With \`SOURCE_DATE_EPOCH\` set, two builds of one tree are the same bytes before encryption.

      Memory grows with the level: about 40 MiB for the compressor up to 9, up to 120 MiB at 19.
    `,
    examples: [
      [
        "Publish from CI",
        "SEALIFT_HUB_URL=… SEALIFT_API_KEY=… SEALIFT_PROJECT_ID=… $0 deploy-publish . --version 1.4.0 --signing-key-file signer.key",
      ],
      ["See what would be packed", "$0 deploy-publish . --project-id prj_… --version 1.4.0 --dry-run"],
      [
        "Keep the artifact",
        "$0 deploy-publish . --version 1.4.0 --signing-key-file signer.key --output ./artifact.xdeploy",
      ],
    ],
  });

  sourceRoot = Option.String({ name: "SOURCE_ROOT", required: true });
  projectId = Option.String("--project-id", { description: "The project [SEALIFT_PROJECT_ID]" });
  projectName = Option.String("--project-name", { description: "Its name for people (default: the source folder's)" });
  version = Option.String("--version", { description: "Semantic version of this publication" });
  signingKeyFile = Option.String("--signing-key-file", {
    description: "The signer's private key, as made by `sealift keygen`",
  });
  level = Option.String("--level", { description: "zstd level, 1 to 19 (default: 3)" });
  include = Option.Array("--include", { description: "Bring back a pattern that is never packed; may be repeated" });
  artifactFile = Option.String("--output", {
    description: "Keep the artifact in this file, and what opens it in FILE.json (0600)",
  });
  dryRun = Option.Boolean("--dry-run", { description: "List what would be packed, and its digest; sends nothing" });
  maxEntries = limitOptions.maxEntries();
  maxEntrySize = limitOptions.maxEntrySize();
  maxTotalSize = limitOptions.maxTotalSize();
  maxDepth = limitOptions.maxDepth();
  maxNameLength = limitOptions.maxNameLength();

  override async run(settings: Settings): Promise<number> {
    const { projectId, semverLabel } = await import("../../lib/contract/identifiers.ts");
    const { stat } = await import("node:fs/promises");
    const { basename, resolve } = await import("node:path");
    const root = resolve(this.sourceRoot);
    const stats = await stat(root).catch(() => undefined);
    if (stats?.isDirectory() !== true) throw usageError("usage", `SOURCE_ROOT ${root} is not a folder.`);
    const id = projectId.safeParse(settings.required("project-id"));
    if (!id.success) throw usageError("usage", `--project-id ${id.error.issues[0]!.message}.`);
    const version = semverLabel.safeParse(settings.required("version"));
    if (!version.success) throw usageError("usage", `--version ${version.error.issues[0]!.message}.`);
    const epoch = sourceDateEpoch();
    using interrupt = interruptible();
    const { openProgress } = await import("../shell/output/progress.ts");
    const progress = await openProgress(this.context.stderr);
    const build: BuildOptions = {
      sourceRoot: root,
      projectId: id.data,
      projectName: settings.text("project-name") ?? basename(root),
      version: version.data,
      include: settings.list("include"),
      limits: limitsFrom(settings),
      ...(epoch !== undefined && { sourceDateEpoch: epoch }),
      signal: interrupt.signal,
      emit: this.json ? sparing(this.output.event) : renderer(progress),
    };
    try {
      return this.dryRun === true ? await this.#dryRun(build) : await this.#publish(build, settings);
    } finally {
      progress.stop();
    }
  }

  async #dryRun(build: BuildOptions): Promise<number> {
    const { buildProject } = await import("../../lib/publisher/publish-project.ts");
    const { tree, manifest } = await buildProject(build);
    const files = tree.members.filter(({ type }) => type === "file");
    if (this.json) {
      for (const { path, size } of files) this.output.event({ event: "file", path, size });
      for (const { path, pattern } of tree.leftOut) this.output.event({ event: "left_out", path, pattern });
      for (const { path, pattern } of tree.broughtBack) this.output.event({ event: "brought_back", path, pattern });
      return this.done({ outcome: "dry_run", files: files.length, content_sha256: manifest.content_sha256, manifest });
    }
    const { sizeText } = await import("../../lib/agent/deployment/sentences.ts");
    for (const { path, size } of files) this.output.line(`${sizeText(size).padStart(12)}  ${path}`);
    for (const { path, pattern } of tree.broughtBack) this.output.line(`brought back  ${path}  (${pattern})`);
    for (const { path, pattern } of tree.leftOut) this.output.line(`    left out  ${path}  (${pattern})`);
    this.output.line(`content_sha256 ${manifest.content_sha256}`);
    return 0;
  }

  async #publish(build: BuildOptions, settings: Settings): Promise<number> {
    const [{ publishProject }, { parsePrivateKey }] = await Promise.all([
      import("../../lib/publisher/publish-project.ts"),
      import("../../lib/artifact/signatures/key-files.ts"),
    ]);
    const key = settings.secretBytes("signing-key");
    if (key === undefined) {
      throw usageError("usage", "--signing-key-file is missing.", {
        hint: "Make a key pair with `sealift keygen --out keys`.",
      });
    }
    const output = this.artifactFile ?? settings.text("output");
    const hub =
      output !== undefined && settings.text("hub-url") === undefined
        ? undefined
        : hubConnection(settings, DEPLOY_TIMEOUT_MS);
    const { outcome, project, artifact, record } = await publishProject({
      ...build,
      seed: parsePrivateKey(key, "--signing-key-file"),
      level: settings.integer("level", 3, { min: 1, max: 19 }),
      ...(output !== undefined && { output }),
      ...(hub !== undefined && { hub }),
    });
    const { version, content_sha256 } = project.manifest;
    if (this.json)
      return this.done({
        outcome,
        version,
        content_sha256,
        artifact_bytes: artifact.size,
        output: output ?? null,
        record: record ?? null,
      });
    if (outcome === "unchanged") this.output.line(`unchanged: ${version} is published already with the same content`);
    else
      this.output.line(
        outcome === "built" ? `built ${output} (${version})` : `published ${version} as ${record!.artifact_id}`,
      );
    return 0;
  }
}

/** @throws UsageError `usage` */
function sourceDateEpoch(): number | undefined {
  const text = process.env.SOURCE_DATE_EPOCH;
  if (text === undefined || text === "") return undefined;
  if (/^\d{1,10}$/.test(text) && Number(text) < 2 ** 31) return Number(text);
  throw usageError("usage", `SOURCE_DATE_EPOCH is a number of seconds since 1970, not ${JSON.stringify(text)}.`);
}

/** Progress events, but not more often than anyone reads. */
function sparing(emit: (event: PublishEvent) => void): (event: PublishEvent) => void {
  let last = 0;
  return (event) => {
    if (event.event.endsWith(".progress")) {
      if (Date.now() - last < 200) return;
      last = Date.now();
    }
    emit(event);
  };
}

function renderer(progress: {
  line(text: string): void;
  update(what: string, done: number, total: number): void;
  stop(): void;
}): BuildOptions["emit"] {
  const labels = { "scan.progress": "Hashing", "pack.progress": "Packing", "upload.progress": "Uploading" };
  return (event) => {
    switch (event.event) {
      case "scan.progress":
      case "pack.progress":
      case "upload.progress":
        return progress.update(labels[event.event], event.bytes, event.total_bytes);
      case "scan.done":
        return progress.line(
          `${event.files} files, content ${event.content_sha256.slice(0, 16)}…${event.left_out > 0 ? `, ${event.left_out} left out (see --dry-run)` : ""}`,
        );
      case "sign.done":
        return progress.line(`Signed by ${event.signer_public_key}`);
      default:
    }
  };
}
