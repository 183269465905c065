import { usageError } from "../../lib/contract/errors.ts";
import { fileLayer, type Layer } from "../../lib/options/layers.ts";
import { plainValue } from "../../lib/options/resolve.ts";
import { targetOptions } from "../../lib/options/watch.ts";
import { readWatchFile, type WatchEntry } from "../../lib/options/watch-file.ts";
import { projectsIn } from "../../lib/options/watch-operators.ts";
import { statsOf } from "../../lib/support/files.ts";

/** Project that a host's `watch.yaml` follows. */
export interface WatchedHost {
  /** Id of the project. */
  project: string;
  /** Name of the host there. */
  name: string;
  /** Paths that the file names for the key and the card. */
  keyFile: string | undefined;
  cardFile: string | undefined;
}

/** Requires that the superuser writes in no folder of another user. @throws DeploymentError `root_foreign` */
export async function ownFolder(folder: string): Promise<void> {
  const [{ layoutOf }, { requireOwnRoot }] = await Promise.all([
    import("../../lib/releases/layout.ts"),
    import("../../lib/releases/project-root.ts"),
  ]);
  await requireOwnRoot(layoutOf(folder));
}

/**
 * Reads whose host a `watch.yaml` is.
 *
 * @param layers where options are given that the file does not have
 * @returns undefined for a host without such a file, or without a project in it
 * @throws UsageError `config_invalid`; `usage` for a file with several projects
 */
export async function watchedHost(file: string, layers: readonly Layer[]): Promise<WatchedHost | undefined> {
  if ((await statsOf(file)) === undefined) return undefined;
  const read = await readWatchFile(file);
  const [entry, ...others] = projectsIn(read);
  if (entry === undefined) return undefined;
  if (others.length > 0)
    throw usageError("usage", `${file} has several projects as its targets.`, {
      hint: "A host's key is of one project: give each project a folder and a watch.yaml of its own.",
    });
  const project = entry.target.slice("project:".length);
  const { hostCard } = await import("../../lib/contract/settings/texts.ts");
  if (!hostCard.shape.project.safeParse(project).success)
    throw usageError("config_invalid", `${file} has ${project} as a project, which is no id of one.`, {
      hint: "`sealift project list` shows the ids: prj_ and more.",
    });
  const valueOf = (key: keyof WatchEntry["options"]): string | undefined => {
    const value = entry.options[key] ?? read.shared[key];
    return typeof value === "string" ? value : undefined;
  };
  const own = [fileLayer(entry.options, "watch.yaml"), fileLayer(read.shared, "watch.yaml"), ...layers];
  return {
    project,
    name: plainValue(targetOptions.project.hostId, own)!,
    keyFile: valueOf("host_key_file"),
    cardFile: valueOf("host_card"),
  };
}
