import { hubStorage } from "./hub.ts";
import { flag, size, text, whole } from "./kinds.ts";
import { group } from "./option.ts";

/** Options of the commands for quotas, which work on the hub's database. */

const { dataDir, databaseUrl } = hubStorage;

/** Options of `hub quota list`. */
export const quotaListing = { dataDir, databaseUrl };

const quotaSubject = {
  owner: text({ metavar: "NAME", help: "Owner whose quota it is" }),
  project: text({ metavar: "ID", help: "Project, plugin or service whose quota it is" }),
};

/** Options of `hub quota remove`. */
export const quotaRemoval = {
  ...group("Quota", { ...quotaSubject, dryRun: flag({ help: "Only tell what would go" }) }),
  ...{ dataDir, databaseUrl },
};

/** Options of `hub quota set`. */
export const quotaSetting = {
  ...group("Quota", {
    maxBytes: size({ help: "Most bytes to store", defaultText: "as it is" }),
    maxVersions: whole({ help: "Most versions to store", defaultText: "as it is" }),
    ...quotaSubject,
  }),
  ...{ dataDir, databaseUrl },
};
