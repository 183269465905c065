import { realpathSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { OWN_EXTENSION, ZOD_FOLDER } from "../guest/sdk-resolution.ts";

/** The files of ours that a sandbox's process runs. */

const guestFolder = realpathSync(fileURLToPath(new URL("../guest", import.meta.url)));
const sdkFolder = realpathSync(fileURLToPath(new URL("../../sdk", import.meta.url)));

export const BOOTSTRAP = `${guestFolder}/bootstrap${OWN_EXTENSION}`;

/** The paths that every sandbox reads besides its plugin. */
export const SHARED_READS: readonly string[] = [guestFolder, sdkFolder, realpathSync(ZOD_FOLDER)];
