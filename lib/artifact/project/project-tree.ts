import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import type { Application } from "../../contract/files/application.ts";
import { APPLICATION_FILE, APPLICATIONS_FOLDER, applicationsOf } from "../../contract/files/application-names.ts";
import {
  environmentNames,
  type Manifest,
  manifest,
  PLAN_FILE,
  type PluginSource,
  projectSources,
  SOURCES_FILE,
} from "../../contract/files/manifest.ts";
import { faultsOf } from "../../support/documents/faults.ts";
import { parseYaml } from "../../support/yaml-file.ts";
import type { MemberList } from "../tree/member-list.ts";
import { quoted } from "../tree/safe-path.ts";
import type { SourceTree } from "../tree/source-tree.ts";
import { indexTree } from "../tree/tree-index.ts";
import type { TreeEntries } from "../tree/tree-listing.ts";
import { foldersIn, listPacked, type PackedOptions, sourceInvalid } from "./packed-tree.ts";

export interface ProjectOptions extends PackedOptions {
  projectId: string;
  projectName: string;
  version: string;
  /** Seconds since 1970: mtime of every member, and `built_at` (docs/contract/project-artifact.md). */
  sourceDateEpoch?: number;
  /** Whether large files are cut into chunks, as an index needs it. Default false. */
  chunks?: boolean;
  signal?: AbortSignal;
  /** Called once the tree is listed, before its files are read. */
  onListed?: (project: ListedProject) => void;
  /** Called with the bytes hashed so far and in all. */
  onHashed?: (done: number, total: number) => void;
}

/** Source tree ready to be sealed: its files, digests and manifest. */
export interface SourceProject {
  tree: SourceTree;
  /** Files with their digests, and empty folders. */
  entries: TreeEntries;
  manifest: Manifest;
  /** Applications that the plan installs, with their checked descriptors. */
  apps: ReadonlyMap<string, Application>;
  /** Manifest as it will be in the artifact. */
  manifestBytes: Buffer;
  /** Modification time of all members, in seconds since 1970. */
  mtime: number;
}

/** Facts of a plugin's descriptor that the publisher needs; the runtime checks all of it. */
const descriptorFacts = z.looseObject({ version: z.coerce.string().min(1), environment: environmentNames.optional() });

/** Source tree that has been listed and can become a project, before its files are read. */
export interface ListedProject {
  projectId: string;
  version: string;
  tree: SourceTree;
  /** Modification time of all members, in seconds since 1970. */
  mtime: number;
  /** Bytes that the manifest will have: all digests have the same length. */
  manifestBytes: number;
  /** Applications that the plan installs, with their checked descriptors. */
  apps: ReadonlyMap<string, Application>;
  /** Facts that a publisher may not expect: addons for another platform, and data that is seed. */
  notes: string[];
  /** Completes the project with the digests of its files. */
  describe: (entries: TreeEntries) => SourceProject;
}

/**
 * Lists and hashes a source tree and computes its manifest. Nothing is written into the tree.
 *
 * @throws UsageError `source_*` when the tree cannot become an artifact; PublishError `source_changed`
 */
export async function readProject(root: string, options: ProjectOptions): Promise<SourceProject> {
  const project = listProject(root, options);
  options.onListed?.(project);
  const total = project.tree.members.bytes;
  const entries = await indexTree(project.tree, {
    chunks: options.chunks ?? false,
    signal: options.signal,
    onRead: (bytes) => options.onHashed?.(bytes, total),
  });
  return project.describe(entries);
}

/**
 * Lists a source tree and checks everything that can be checked before its files are hashed. Without an id, the project
 * is that of its plan.
 *
 * @throws UsageError `source_*` when the tree cannot become an artifact
 */
export function listProject(
  root: string,
  options: Omit<ProjectOptions, "chunks" | "signal" | "onHashed" | "projectId"> & { projectId?: string },
): ListedProject {
  const { tree, plan, pluginsFolder, apps, notes } = listPacked(root, options);
  const { projectId = plan.project_id } = options;
  const { members } = tree;
  const sources = readSources(root, members);
  const now = options.sourceDateEpoch === undefined ? new Date() : new Date(options.sourceDateEpoch * 1000);
  const pluginIds = foldersIn(members, pluginsFolder);
  const facts = new Map(pluginIds.map((id) => [id, descriptorOf(root, `${pluginsFolder}/${id}/plugin.yaml`, members)]));
  const extensionIds = foldersIn(members, "extensions");

  const manifestWith = ({ content, folder }: ProjectDigests): Manifest => {
    const result = manifest.safeParse({
      format_version: "1",
      project_id: projectId,
      project_name: options.projectName,
      version: options.version,
      built_at: now.toISOString(),
      plugins: [
        ...pluginIds.map((id) => {
          const { version, environment } = facts.get(id)!;
          const sha256 = folder(`${pluginsFolder}/${id}`);
          return { id, version, sha256, environment: environment ?? null, source: null };
        }),
        ...Object.entries(sources.plugins).map(([id, { version, sha256, environment, source }]) => ({
          id,
          version,
          sha256,
          environment: environment ?? null,
          source: sourceOf(source, "plugin"),
        })),
      ],
      extensions: [
        ...extensionIds.map((id) => ({ id, sha256: folder(`extensions/${id}`), source: null })),
        ...Object.entries(sources.extensions).map(([id, { sha256, source }]) => ({
          id,
          sha256,
          source: sourceOf(source, "service"),
        })),
      ],
      plugins_dirname: pluginsFolder,
      content_sha256: content,
    });
    if (result.success && (result.data.plugins.length > 0 || applicationsOf(plan).length > 0)) return result.data;
    const faults = result.success ? [nothingInstalled(members)] : faultsOf(result.error);
    throw sourceInvalid(`${root} does not make a valid manifest: ${faults.join("; ")}.`, faults);
  };

  const mtime = options.sourceDateEpoch ?? 0;
  // Finds all its faults, and its length, before a file is read.
  const expected = manifestWith(expectedDigests(members));
  return {
    projectId,
    version: options.version,
    ...{ tree, apps, mtime },
    manifestBytes: Buffer.byteLength(JSON.stringify(expected)),
    notes,
    describe(entries) {
      const found = manifestWith(digestsOf(entries));
      return { tree, entries, apps, manifest: found, manifestBytes: Buffer.from(JSON.stringify(found)), mtime };
    },
  };
}

/** Digests for a manifest: of the whole tree, and of a folder in it (null: it holds no file). */
interface ProjectDigests {
  content: string;
  folder: (path: string) => string | null;
}

function digestsOf({ files }: TreeEntries): ProjectDigests {
  return { content: files.digest(), folder: (path) => files.digestOfFolder(path) ?? null };
}

/** Returns placeholders for the digests that a tree will have. */
function expectedDigests(members: MemberList): ProjectDigests {
  const digest = "0".repeat(64);
  const holdsFile = (folder: string) => members.within(folder).some((index) => !members.isFolder(index));
  return { content: digest, folder: (path) => (holdsFile(path) ? digest : null) };
}

/** Describes a project without a plugin whose plan installs no application. */
function nothingInstalled(members: MemberList): string {
  const app = foldersIn(members, APPLICATIONS_FOLDER).find((id) =>
    members.has(`${APPLICATIONS_FOLDER}/${id}/${APPLICATION_FILE}`),
  );
  return app === undefined
    ? "plugins: must have at least one entry, or the plan an install_app step"
    : `${PLAN_FILE} has no step that installs ${APPLICATIONS_FOLDER}/${app}: {action: install_app, app: ${app}}`;
}

function descriptorOf(root: string, path: string, members: MemberList): z.output<typeof descriptorFacts> {
  if (!members.has(path))
    throw sourceInvalid(`${quoted(path)} is missing: every plugin has a descriptor with its version.`);
  return parseYaml(readFileSync(join(root, path), "utf8"), descriptorFacts, join(root, path), sourceInvalid);
}

type Sources = z.output<typeof projectSources>;

function readSources(root: string, members: MemberList): Sources {
  if (!members.has(SOURCES_FILE)) return { plugins: {}, extensions: {} };
  const file = join(root, SOURCES_FILE);
  return parseYaml(readFileSync(file, "utf8"), projectSources, file, sourceInvalid);
}

const sourceOf = (
  source: Sources["extensions"][string]["source"],
  kind: PluginSource["marketplace_kind"],
): PluginSource => ({
  marketplace_slug: source.marketplace_slug ?? null,
  marketplace_version: source.marketplace_version ?? null,
  marketplace_kind: source.marketplace_kind ?? kind,
  url: source.url ?? null,
  ref: source.ref ?? null,
  subdirectory: source.subdirectory ?? null,
  ...(source.signer_public_keys && { signer_public_keys: source.signer_public_keys }),
});
