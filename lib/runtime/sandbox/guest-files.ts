import { realpathSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { IS_ONE_FILE } from "../../support/one-file.ts";
import { OWN_EXTENSION, ZOD_FOLDER } from "../guest/sdk-resolution.ts";

/** Sealift's own files that a sandbox's process runs. */

const guestFolder = realpathSync(fileURLToPath(new URL("../guest", import.meta.url)));
const sdkFolder = realpathSync(fileURLToPath(new URL("../../sdk", import.meta.url)));

export const BOOTSTRAP = `${guestFolder}/bootstrap${OWN_EXTENSION}`;

/** Paths that every sandbox reads besides its plugin: none inside the single executable. */
export const SHARED_READS: readonly string[] = IS_ONE_FILE ? [] : [guestFolder, sdkFolder, realpathSync(ZOD_FOLDER)];
