import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { parsePlan } from "../../../lib/agent/deployment/plan.ts";
import type { Source } from "../../../lib/agent/sources/source.ts";
import type { LocalReport } from "../../../lib/contract/surfaces/reports.ts";
import { plant } from "./project-root.ts";

const PROJECT = "prj_0123456789";
export const GIVEN_TARGET = `project-${PROJECT}` as const;

/** The step that installs the one plugin of a given source. */
export const INSTALL = "\n  - {id: install, action: install_plugin, plugin: a}";

export interface Given extends Partial<Source> {
  /** The plugin that it installs. */
  plugin?: string;
  files?: Record<string, string>;
  reports?: LocalReport[];
}

/** A source without a hub: the tree and the plan are given. */
export function sourceOf(version: string, steps: string, given: Given = {}): Source {
  const { slug = PROJECT, plugin = "a", reports, ...others } = given;
  const { files = { [`plugins/${plugin}/version`]: version }, ...rest } = others;
  return {
    kind: "project",
    slug,
    target: `project-${slug}`,
    requestedVersion: "latest",
    resolve: async () => ({ version, identity: `signature of ${version}` }),
    fetch: async ({ staging }) => {
      const tree = join(staging, "tree");
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
        plugins: new Map([[plugin, { folder: `plugins/${plugin}`, requiredEnvironment: [] }]]),
        extensions: new Map(),
        keep: [],
        identity: `signature of ${version}`,
        contentSha256: null,
        bytes: 10,
        artifactSha256: null,
        repo: null,
      };
    },
    report: async (report) => void reports?.push(report),
    ...rest,
  };
}
