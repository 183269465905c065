/** Source trees for deltas: written to disk, published as two versions, completed as a host does it. */
import { createHash, randomBytes } from "node:crypto";
import { chmodSync, createReadStream, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { listingDigest } from "../../../lib/artifact/delta/delta-lines.ts";
import { openIndex, writeIndex } from "../../../lib/artifact/delta/index-file.ts";
import { makeDelta } from "../../../lib/artifact/delta/make-delta.ts";
import { type ExpectedVersion, openDelta } from "../../../lib/artifact/delta/open-delta.ts";
import { type BaseTree } from "../../../lib/artifact/delta/plan-tree.ts";
import { DEFAULT_LIMITS, type Limits } from "../../../lib/artifact/limits.ts";
import { openArtifact } from "../../../lib/artifact/project/open.ts";
import { readProject } from "../../../lib/artifact/project/project-tree.ts";
import { type SealedArtifact, sealProject } from "../../../lib/artifact/project/seal.ts";
import { publicKeyOf } from "../../../lib/artifact/signatures/ed25519.ts";
import { listSourceTree } from "../../../lib/artifact/tree/source-tree.ts";
import { planText } from "./artifact.ts";

export const PROJECT = "prj_0123456789abcdef0123456789abcdef";
export const SEED = randomBytes(32);
const SIGNER = publicKeyOf(SEED);

/** Path → content; null is an empty folder. `executable` names the files that have the bit. */
export interface Tree {
  files: Record<string, string | Uint8Array | null>;
  executable?: readonly string[];
}

const WHOLE: Tree["files"] = {
  "deployment/install.yaml": planText(PROJECT, "  - { id: install, action: install_plugin, plugin: demo }\n"),
  "plugins/demo/plugin.yaml": "name: demo\nversion: 1.0.0\n",
};

/** One version of a project in a folder of its own. */
export async function writeVersion(folder: string, version: string, { files, executable = [] }: Tree) {
  for (const [path, content] of Object.entries({ ...WHOLE, ...files })) {
    const full = join(folder, path);
    mkdirSync(content === null ? full : dirname(full), { recursive: true });
    if (content === null) continue;
    writeFileSync(full, content);
    chmodSync(full, executable.includes(path) ? 0o755 : 0o644);
  }
  const options = {
    projectId: PROJECT,
    projectName: "Demo",
    version,
    limits: DEFAULT_LIMITS,
    sourceDateEpoch: 0,
    chunks: true,
  };
  const project = await readProject(folder, options);
  return { project, entries: project.entries };
}
export type Version = Awaited<ReturnType<typeof writeVersion>>;

/** The sealed index of a version, opened again as the next publication does. */
export async function reopenIndex(folder: string, { project, entries }: Version) {
  const { version, content_sha256 } = project.manifest;
  const tree = { projectId: PROJECT, version, contentSha256: content_sha256 };
  const file = join(folder, `index-${version}`);
  await writeIndex(file, tree, entries, SEED);
  return openIndex(file, `${file}.plain`, SEED, { projectId: PROJECT, version }, DEFAULT_LIMITS);
}

/** The delta from one version to another, however large. */
export async function deltaBetween(folder: string, from: Version, to: Version): Promise<SealedArtifact> {
  const delta = await makeDelta({
    project: to.project,
    base: await reopenIndex(folder, from),
    work: join(folder, "work"),
    output: join(folder, "delta.xdeploy"),
    artifactBytes: 1,
    maxShare: Infinity,
    seed: SEED,
    level: 3,
    limits: DEFAULT_LIMITS,
  });
  return delta!;
}

/** Unpacks a version's full artifact. @returns the folder */
export async function unpackFull(folder: string, { project }: Version): Promise<string> {
  const output = join(folder, `full-${project.manifest.version}.xdeploy`);
  const sealed = await sealProject(project, { output, seed: SEED, level: 3 });
  const staging = `${output}.tree`;
  mkdirSync(staging, { mode: 0o700 });
  await openArtifact(createReadStream(output), { ...keysOf(sealed), staging, limits: DEFAULT_LIMITS });
  return staging;
}

export const keysOf = ({ dek, signature }: Pick<SealedArtifact, "dek" | "signature">) => ({
  dek,
  signature,
  signerPublicKey: SIGNER,
});

/** A version that was unpacked, as the base of a delta. */
export function baseOf({ project, entries }: Version, tree: string): BaseTree {
  const { version, content_sha256: contentSha256 } = project.manifest;
  const { files, emptyFolders } = entries;
  return { version, contentSha256, files, emptyFolders, pathOf: (file) => join(tree, files.pathAt(file)) };
}

/** Completes a tree from a delta. @returns the folder */
export async function complete(
  folder: string,
  delta: Pick<SealedArtifact, "path" | "dek" | "signature">,
  base: BaseTree,
  expected: string | Omit<ExpectedVersion, "projectId">,
  limits: Limits = DEFAULT_LIMITS,
): Promise<string> {
  const staging = join(folder, "staging");
  const output = join(folder, "completed");
  mkdirSync(staging, { mode: 0o700 });
  await openDelta(createReadStream(delta.path), {
    ...keysOf(delta),
    staging,
    output,
    base,
    expected: { projectId: PROJECT, ...(typeof expected === "string" ? { version: expected } : expected) },
    limits,
  });
  return output;
}

/** A delta as an attacker with the signer's key would make it: any lines, any bytes, the new version's own manifest. */
export async function forgedDelta(
  folder: string,
  to: Version,
  lines: readonly (object | string)[],
  bytes: Readonly<Record<string, string | Uint8Array>> = {},
): Promise<SealedArtifact> {
  const work = join(folder, "forged");
  const text = lines.map((line) => (typeof line === "string" ? line : JSON.stringify(line))).join("\n");
  for (const [path, content] of Object.entries({ "delta.ndjson": `${text}\n`, ...bytes })) {
    mkdirSync(dirname(join(work, path)), { recursive: true });
    writeFileSync(join(work, path), content);
  }
  const tree = listSourceTree(work, { limits: DEFAULT_LIMITS });
  return sealProject({ ...to.project, tree }, { output: join(folder, "forged.xdeploy"), seed: SEED, level: 3 });
}

/** Two versions of a small project, the first one unpacked as a base. */
export async function twoVersions(folder: string, before: Tree["files"], after: Tree["files"]) {
  const from = await writeVersion(join(folder, "a"), "1.0.0", { files: before });
  const to = await writeVersion(join(folder, "b"), "1.1.0", { files: after });
  const tree = await unpackFull(folder, from);
  return { from, to, tree, base: baseOf(from, tree), header: headerOf(from, to) };
}

/** The true first line of a delta from one version to another. */
export const headerOf = ({ project: { manifest } }: Version, to: Version) => ({
  v: 1,
  project_id: PROJECT,
  version: to.project.manifest.version,
  listing_sha256: listingDigest(to.entries),
  base: { version: manifest.version, content_sha256: manifest.content_sha256 },
});

/** A line that puts a file, with the true size and digest of its content. */
export const putLine = (path: string, content: string | Uint8Array, more: object = {}) => ({
  put: path,
  executable: false,
  size: Buffer.byteLength(content),
  sha256: createHash("sha256").update(content).digest("hex"),
  ...more,
});
