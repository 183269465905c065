import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { parsePlan } from "../../../lib/agent/base/documents.ts";
import type { FetchContext, Fetched, Resolved, Source } from "../../../lib/agent/sources/source.ts";
import { FileTable } from "../../../lib/artifact/tree/file-table.ts";
import type { LocalReport } from "../../../lib/contract/surfaces/reports.ts";
import { plant } from "./project-root.ts";

const PROJECT = "prj_0123456789";
export const GIVEN_TARGET = `project-${PROJECT}` as const;

/** The step that installs the one plugin of a given source. */
export const INSTALL = "\n  - {id: install, action: install_plugin, plugin: a}";

export interface Given extends Partial<Omit<Source, "resolve">> {
  resolve?: (...context: Parameters<Source["resolve"]>) => Promise<Omit<Resolved, "fetch">>;
  /** The plugin that it installs. */
  plugin?: string;
  files?: Record<string, string>;
  /** Ids of the applications in `files`. */
  apps?: ReadonlySet<string>;
  fetch?: (context: FetchContext) => Promise<Fetched>;
  reports?: LocalReport[];
}

/** A source without a hub: the tree and the plan are given. */
export function sourceOf(version: string, steps: string, given: Given = {}): Source {
  const { slug = PROJECT, plugin = "a", reports, ...others } = given;
  const { apps, files = { [`plugins/${plugin}/version`]: version }, fetch: givenFetch, resolve, ...rest } = others;
  const fetch = async (context: FetchContext): Promise<Fetched> => {
    if (givenFetch !== undefined) return givenFetch(context);
    const tree = join(context.staging, "tree");
    await mkdir(tree, { recursive: true });
    await plant(tree, files);
    return {
      plan: parsePlan(
        `format_version: "1"\nproject_id: ${slug}\nversion: ${version}\nsteps:\n${steps}`,
        "install.yaml",
        "artifact",
      ),
      planOrigin: "artifact",
      tree,
      plugins: new Map([[plugin, { folder: `plugins/${plugin}`, requiredEnvironment: [], optionalEnvironment: [] }]]),
      extensions: new Map(),
      apps: new Set(Object.keys(files).flatMap((path) => /^apps\/([^/]+)\/app\.yaml$/.exec(path)?.[1] ?? [])),
      keep: [],
      identity: `signature of ${version}`,
      contentSha256: null,
      listing: { files: FileTable.empty(), emptyFolders: [] },
      signer: null,
      artifactSha256: null,
      repo: null,
      reported: [],
    };
  };
  return {
    kind: "project",
    slug,
    target: `project-${slug}`,
    requestedVersion: "latest",
    resolve: async (context) => ({
      ...((await resolve?.(context)) ?? { version, identity: `signature of ${version}` }),
      fetch,
    }),
    report: async (report) => void reports?.push(report),
    ...rest,
  };
}
