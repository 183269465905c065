import { DEFAULT_LIMITS } from "../../artifact/limits.ts";
import { artifactError, SealiftError } from "../../contract/errors.ts";
import { DESCRIPTOR_FILE } from "../../contract/files/manifest.ts";
import type { MarketplaceKind } from "../../contract/surfaces/paths.ts";
import { HubError } from "../base/errors.ts";

/**
 * Checks a ZIP archive as an agent would before installing it.
 *
 * @param path file with the whole archive
 * @throws SealiftError with the code of the fault
 */
export type CheckArchive = (path: string, kind: MarketplaceKind) => Promise<void>;

/**
 * Runs the agent's own checks and compares with a second reader. Links are left to `--symlinks`, since source hosts
 * ship them. A plugin has its descriptor at the root, or in the one top-level folder.
 */
export const checkArchive: CheckArchive = async (path, kind) => {
  const { scanZip } = await import("../../artifact/zip/directory.ts");
  const { checkContents, requireSecondOpinion } = await import("../../artifact/zip/second-reader.ts");
  const index = await scanZip(path, { limits: DEFAULT_LIMITS, symlinks: "skip" });
  const descriptor = index.topFolder === undefined ? DESCRIPTOR_FILE : `${index.topFolder}/${DESCRIPTOR_FILE}`;
  if (kind === "plugin" && !Iterator.from(index.files).some(({ path }) => path === descriptor))
    throw artifactError("descriptor_invalid", `The plugin has no ${DESCRIPTOR_FILE}.`);
  await requireSecondOpinion(path, index);
  await checkContents(path, index);
};

/** Runs the check. @throws 422 with the check's own code and message */
export async function requireSoundArchive(check: CheckArchive, path: string, kind: MarketplaceKind): Promise<void> {
  try {
    await check(path, kind);
  } catch (error) {
    if (!(error instanceof SealiftError) || error.code === "internal") throw error;
    throw new HubError(422, error.code, `No agent would install this archive: ${error.message}`, { cause: error });
  }
}
