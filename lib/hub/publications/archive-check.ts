import { DEFAULT_LIMITS } from "../../artifact/limits.ts";
import { SealiftError } from "../../contract/errors.ts";
import { HubError } from "../http/errors.ts";

/**
 * Looks at a ZIP archive as an agent would before unpacking it.
 *
 * @param path a file that holds the whole archive
 * @throws SealiftError with the code of what is wrong
 */
export type CheckArchive = (path: string) => Promise<void>;

/** The agent's own pre-scan. Links are left to the agent's `--symlinks`: source hosts do ship them. */
export const checkArchive: CheckArchive = async (path) => {
  const { scanZip } = await import("../../artifact/zip/directory.ts");
  await scanZip(path, { limits: DEFAULT_LIMITS, symlinks: "skip" });
};

/** Runs the check. @throws 422 with the check's own code and message */
export async function requireSoundArchive(check: CheckArchive, path: string): Promise<void> {
  try {
    await check(path);
  } catch (error) {
    if (!(error instanceof SealiftError) || error.code === "internal") throw error;
    throw new HubError(422, error.code, `No agent would install this archive: ${error.message}`, { cause: error });
  }
}
