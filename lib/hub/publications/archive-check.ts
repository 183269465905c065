import { DEFAULT_LIMITS } from "../../artifact/limits.ts";
import { requireReadable } from "../../artifact/tree/safe-path.ts";
import { artifactError, SealiftError } from "../../contract/errors.ts";
import { DESCRIPTOR_FILE } from "../../contract/files/manifest.ts";
import type { MarketplaceKind } from "../../contract/surfaces/paths.ts";
import { HubError } from "../base/errors.ts";

/** Facts of an archive that catalogues show. */
export interface ArchiveFacts {
  /** Description in its plugin.yaml; null without a usable one. */
  description: string | null;
}

/**
 * Checks a ZIP archive as an agent would before installing it.
 *
 * @param path file with the whole archive
 * @throws SealiftError with the code of the fault
 */
export type CheckArchive = (path: string, kind: MarketplaceKind) => Promise<ArchiveFacts>;

/**
 * Runs the agent's own checks and compares with a second reader. Links are left to `--symlinks`, since source hosts
 * ship them. A plugin has its descriptor at the root, or in the one top-level folder.
 */
export const checkArchive: CheckArchive = async (path, kind) => {
  const { scanZip } = await import("../../artifact/zip/directory.ts");
  const { checkContents, requireSecondOpinion } = await import("../../artifact/zip/second-reader.ts");
  const { descriptionIn } = await import("./archive-description.ts");
  const index = await scanZip(path, { limits: DEFAULT_LIMITS, symlinks: "skip" });
  for (const { path: name } of index.files) requireReadable(name);
  const descriptor = index.topFolder === undefined ? DESCRIPTOR_FILE : `${index.topFolder}/${DESCRIPTOR_FILE}`;
  const described = Iterator.from(index.files).find(({ path }) => path === descriptor);
  if (kind === "plugin" && described === undefined)
    throw artifactError("descriptor_invalid", `The plugin has no ${DESCRIPTOR_FILE}.`);
  await requireSecondOpinion(path, index);
  await checkContents(path, index);
  return { description: described === undefined ? null : await descriptionIn(path, described) };
};

/** Runs the check. @throws 422 with the check's own code and message */
export async function requireSoundArchive(
  check: CheckArchive,
  path: string,
  kind: MarketplaceKind,
): Promise<ArchiveFacts> {
  try {
    return await check(path, kind);
  } catch (error) {
    if (!(error instanceof SealiftError) || error.code === "internal") throw error;
    throw new HubError(422, error.code, `No agent would install this archive: ${error.message}`, { cause: error });
  }
}
