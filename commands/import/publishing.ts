import type { fetching } from "../../lib/options/import.ts";
import type { Values } from "../../lib/options/option.ts";
import type { PublishingFeature } from "../publishing/feature.ts";

interface ImportOptions extends Values<typeof fetching> {
  repo?: string;
  host?: string;
}

/** Publishing an archive that the hub fetches from a source host. */
export const importing: PublishingFeature = {
  fetch({ import: isImport, repo, host }: ImportOptions) {
    if (!isImport) return undefined;
    return async (target, fields, hub) => {
      const { importVersion } = await import("../../lib/client/import.ts");
      return importVersion(target, { ...fields, repo: repo!, ...(host !== undefined && { host }) }, hub);
    };
  },
};
