import { Command, Option } from "clipanion";
import type { SourceProject } from "../../lib/artifact/project/project-tree.ts";
import type { SourceMember } from "../../lib/artifact/tree/member-list.ts";
import type { HubConnection } from "../../lib/client/hub-connection.ts";
import { usageError } from "../../lib/contract/errors.ts";
import { publish } from "../../lib/options/publish.ts";
import type { DeltaBases } from "../../lib/publisher/publish-deltas.ts";
import type { BuildOptions } from "../../lib/publisher/publish-project.ts";
import { interruptible, withOptions } from "../shell/base.ts";
import { DEPLOY_TIMEOUT_MS, hubConnection } from "../shell/connection.ts";
import { leftOutLines } from "../shell/output/left-out.ts";
import { storedAs, whoGetsIt } from "../shell/output/version-state.ts";
import { additionsOf, isStaged, keyFor, waitingDigest } from "./features.ts";
import { keysText, type NeededAgent, neededAgent, neededFields } from "./needed-agent.ts";
import { renderer, type Skipped, sparing } from "./publish-events.ts";

const STAGED = { name: "staged", cause: "uploaded" } as const;

export class DeployPublish extends withOptions(publish) {
  static override paths = [["project", "publish"], ["deploy-publish"]];
  static override usage = Command.Usage({
    category: "Publishing",
    description: "Build, sign and publish a project",
    details: `
      Packs the source tree into an artifact (tar, zstd, AES-256-GCM), signs it with Ed25519 and uploads it. Publishing
      the same tree under the same version again changes nothing and ends with 0.

      Never packed are version control, caches, virtual environments, \`.env\`, keys and databases; \`--include\` brings
      a pattern back and \`--dry-run\` lists what is left out. Applications with a lock file of npm bring their installed
      packages, plugins and services with \`--with-dependencies\`. With \`SOURCE_DATE_EPOCH\` set, two builds of one tree
      are the same bytes before encryption.

      Memory grows with the level: about 40 MiB for the compressor up to 9, up to 120 MiB at 19.
    `,
    examples: [
      [
        "Publish from CI, without a stored key",
        "$0 project publish . --hub-url https://hub.example.org --project-id prj_… --version 1.4.0 --signing-key-file signer.key --oidc",
      ],
      [
        "Publish with a stored key",
        "SEALIFT_HUB_URL=… SEALIFT_API_KEY=… SEALIFT_PROJECT_ID=… $0 project publish . --version 1.4.0 --signing-key-file signer.key",
      ],
      [
        "Have another person approve it",
        "$0 project publish . --project-id prj_… --version 1.4.0 --signing-key-file signer.key --stage",
      ],
      ["See what would be packed", "$0 project publish . --project-id prj_… --version 1.4.0 --dry-run"],
      [
        "Keep the artifact",
        "$0 project publish . --version 1.4.0 --signing-key-file signer.key --out ./artifact.xdeploy",
      ],
    ],
  });

  sourceRoot = Option.String({ name: "SOURCE_ROOT", required: true });
  /** API key that was given, or that of this run. */
  #apiKey: string | undefined;

  override async run(): Promise<number> {
    const [{ stat }, { basename, resolve }, { packedBy }] = await Promise.all([
      import("node:fs/promises"),
      import("node:path"),
      import("../../lib/artifact/project/packed-tree.ts"),
    ]);
    const root = resolve(this.sourceRoot);
    const stats = await stat(root).catch(() => undefined);
    if (stats?.isDirectory() !== true)
      throw usageError("usage", `SOURCE_ROOT ${root} is not a folder.`, {
        hint: "Give the folder that holds plugins/ and deployment/install.yaml.",
      });
    const { version, dryRun, apiKey } = this.options;
    this.#apiKey = apiKey;
    const epoch = sourceDateEpoch();
    using interrupt = interruptible();
    const { openProgress } = await import("../shell/output/progress.ts");
    const progress = await openProgress(this.context.stderr);
    const skipped: Skipped = new Map();
    const stop = (): void => {
      for (const [reason, versions] of skipped) progress.line(`No delta from ${versions.join(", ")}: ${reason}`);
      skipped.clear();
      progress.stop();
    };
    const build: BuildOptions = {
      sourceRoot: root,
      ...(await this.#project(basename(root), interrupt.signal)),
      version,
      ...packedBy(this.options),
      ...(epoch !== undefined && { sourceDateEpoch: epoch }),
      signal: interrupt.signal,
      emit: this.json ? sparing(this.print.event) : renderer(progress, skipped),
    };
    try {
      return dryRun ? await this.#dryRun(build, stop) : await this.#publish(build, stop);
    } finally {
      stop();
    }
  }

  /** Returns the id and the name of the project. If the hub does not state the name, it is that of `folder`. */
  async #project(folder: string, signal: AbortSignal): Promise<Pick<BuildOptions, "projectId" | "projectName">> {
    const { projectId: given, projectName, hubUrl, timeoutMs = DEPLOY_TIMEOUT_MS, dryRun } = this.options;
    if (!dryRun && hubUrl !== undefined) {
      const target = `project:${given.replace(/^project:/, "")}`;
      const run = await keyFor(this.options, target, { hubUrl, timeoutMs, signal });
      this.#apiKey = run?.key ?? this.#apiKey;
      if (run !== undefined) return { projectId: run.project_id, projectName: projectName ?? run.name };
    }
    const apiKey = this.#apiKey;
    if (hubUrl !== undefined && apiKey !== undefined) {
      const hub = hubConnection({ hubUrl, apiKey, timeoutMs }, DEPLOY_TIMEOUT_MS);
      const [{ projectNamed }, { DeployClient }] = await Promise.all([
        import("../../lib/client/lookup.ts"),
        import("../../lib/client/deploy-client.ts"),
      ]);
      const projectId = await projectNamed(hub, given);
      if (projectName !== undefined) return { projectId, projectName };
      // A key that may only publish cannot read the name. The publication itself reports other errors better.
      const known = await new DeployClient(projectId, hub).projectName().catch(() => undefined);
      return { projectId, projectName: known ?? folder };
    }
    const checked = (await import("../../lib/contract/identifiers.ts")).projectId.safeParse(given);
    if (!checked.success) throw usageError("usage", `Without a hub, --project-id ${checked.error.issues[0]!.message}.`);
    return { projectId: given, projectName: projectName ?? folder };
  }

  async #dryRun(build: BuildOptions, endProgress: () => void): Promise<number> {
    const { buildProject, sizePublication } = await import("../../lib/publisher/publish-project.ts");
    const sending = await this.#sending();
    const project = await buildProject({ ...build, chunks: sending !== undefined });
    const sizes = sending && (await sizePublication(project, { ...build, ...sending }));
    const { hubUrl, timeoutMs } = this.options;
    const asked =
      hubUrl === undefined || this.#apiKey === undefined ? undefined : { hubUrl, apiKey: this.#apiKey, timeoutMs };
    const needed = await this.#needed(project, asked && hubConnection(asked, DEPLOY_TIMEOUT_MS));
    // The list goes to stdout, which may be the same terminal: the end of a bar erases a line there.
    endProgress();
    const { tree, manifest } = project;
    const files = (): Iterable<SourceMember> => Iterator.from(tree.members).filter(({ type }) => type === "file");
    if (this.json) {
      for (const { path, size } of files()) this.print.event({ event: "file", path, size });
      for (const { path, pattern } of tree.leftOut) this.print.event({ event: "left_out", path, pattern });
      for (const { path, pattern } of tree.broughtBack) this.print.event({ event: "brought_back", path, pattern });
      return this.done({
        outcome: "dry_run",
        files: tree.members.files,
        content_sha256: manifest.content_sha256,
        artifact_bytes: sizes?.artifactBytes ?? null,
        deltas: sizes?.deltas ?? null,
        ...neededFields(needed),
        manifest,
      });
    }
    const { sizeText } = await import("../../lib/support/size-text.ts");
    const sized = (bytes: number, what: string): void => this.print.line(`${sizeText(bytes).padStart(12)}  ${what}`);
    for (const { path, size } of files()) sized(size, path);
    for (const { path, pattern } of tree.broughtBack) this.print.line(`brought back  ${path}  (${pattern})`);
    for (const { path, pattern } of tree.leftOut) this.print.line(`    left out  ${path}  (${pattern})`);
    if (sizes !== undefined) sized(sizes.artifactBytes, "the artifact of them");
    for (const { base_version, bytes } of sizes?.deltas ?? []) sized(bytes, `the delta from ${base_version}`);
    this.print.line(`content_sha256 ${manifest.content_sha256}`);
    if (sizes === undefined && this.options.deltas > 0)
      this.note(
        "With --hub-url, --api-key and --signing-key-file, a dry run says how large artifact and deltas would be.",
      );
    return 0;
  }

  /** Returns the facts for computing the sizes of deltas; undefined when one of them was not given. */
  async #sending() {
    const { signingKey, level, hubUrl, timeoutMs } = this.options;
    const [deltas, apiKey] = [this.#bases(), this.#apiKey];
    if (signingKey === undefined || hubUrl === undefined || apiKey === undefined || deltas === undefined)
      return undefined;
    const { signingSeed } = await import("../shell/signer.ts");
    const hub = hubConnection({ hubUrl, apiKey, timeoutMs }, DEPLOY_TIMEOUT_MS);
    return { seed: await signingSeed(signingKey, this.layers), level, hub, deltas };
  }

  /** Says which version of Sealift hosts need, if not any, and how many have an older one. */
  async #needed({ apps, manifest }: SourceProject, hub: HubConnection | undefined): Promise<NeededAgent | undefined> {
    const needed = await neededAgent(apps, manifest.project_id, hub);
    if (needed === undefined || needed.counted?.older === 0) return needed;
    const { needsText } = await import("../../lib/contract/agent-counts.ts");
    const text = `${manifest.version} ${needsText(needed.version, needed.counted)} (${keysText(needed.keys)}).`;
    if (needed.counted === undefined) this.note(text);
    else this.warn(text);
    return needed;
  }

  #bases(): DeltaBases | undefined {
    const { deltas, deltaFrom } = this.options;
    return deltaFrom.length > 0 ? { versions: deltaFrom } : deltas > 0 ? { count: deltas } : undefined;
  }

  async #publish(build: BuildOptions, stopProgress: () => void): Promise<number> {
    const [{ publishProject }, { signingSeed }] = await Promise.all([
      import("../../lib/publisher/publish-project.ts"),
      import("../shell/signer.ts"),
    ]);
    const { signingKey, level, output, hubUrl, timeoutMs } = this.options;
    const apiKey = this.#apiKey ?? "";
    const hub = hubUrl === undefined ? undefined : hubConnection({ hubUrl, apiKey, timeoutMs }, DEPLOY_TIMEOUT_MS);
    const bases = this.#bases();
    const seed = await signingSeed(signingKey!, this.layers);
    const additions = await additionsOf(this.options, hub);
    if (hub !== undefined) {
      const { agreeToSigner } = await import("./new-signer.ts");
      const { newSigner } = this.options;
      await agreeToSigner(hub, { target: build.projectId, version: build.version, seed, newSigner }, this.consenting());
    }
    const {
      outcome,
      project,
      artifact,
      record,
      deltas: made,
    } = await publishProject({
      ...build,
      seed,
      stage: isStaged(this.options),
      level,
      ...(output !== undefined && { output }),
      ...(hub !== undefined && { hub }),
      ...(bases !== undefined && { deltas: bases }),
    });
    const { version, content_sha256 } = project.manifest;
    const added = await additions.add({ kind: "project", slug: build.projectId }, { version, content_sha256 }, seed);
    // The bar clears its line when it stops: the result comes after it.
    stopProgress();
    if (!this.json) for (const line of leftOutLines(project.tree.leftOut)) this.note(line);
    for (const { path, pattern } of this.json ? project.tree.leftOut : [])
      this.print.event({ event: "left_out", path, pattern });
    const needed = await this.#needed(project, hub);
    const waiting = await waitingDigest({ outcome, record }, this.options, hub, project.manifest);
    if (this.json)
      return this.done({
        outcome: outcome === "published" && waiting !== undefined ? "staged" : outcome,
        version,
        content_sha256,
        artifact_bytes: artifact.size,
        output: output ?? null,
        record: record ?? null,
        deltas: made,
        ...added.result,
        ...neededFields(needed),
      });
    if (outcome === "unchanged") {
      const is = waiting === undefined ? "published" : "staged";
      this.print.line(`unchanged: ${version} is ${is} already with the same content`);
    } else if (outcome === "built") this.print.line(`built ${output} (${version})`);
    else this.print.line(`${storedAs(record!.state)} ${version} as ${record!.artifact_id}`);
    const { sizeText } = await import("../../lib/support/size-text.ts");
    for (const { base_version, bytes } of made)
      this.print.line(`delta from ${base_version}: ${sizeText(bytes)} instead of ${sizeText(artifact.size)}`);
    for (const [name, bytes] of added.lines) this.print.line(`${name}: ${sizeText(bytes)}`);
    const state = waiting === undefined ? record?.state : STAGED;
    const notice = whoGetsIt(state, { target: project.manifest.project_id, version, sha256: waiting });
    if (notice !== undefined) this.print.line(notice);
    return 0;
  }
}

/** Returns the value of SOURCE_DATE_EPOCH. @throws UsageError `usage` */
function sourceDateEpoch(): number | undefined {
  const text = process.env.SOURCE_DATE_EPOCH;
  if (text === undefined || text === "") return undefined;
  if (/^\d{1,10}$/.test(text) && Number(text) < 2 ** 31) return Number(text);
  throw usageError("usage", `SOURCE_DATE_EPOCH is a number of seconds since 1970, not ${JSON.stringify(text)}.`);
}
