import { agent, supervision } from "./agent.ts";
import { flag, path } from "./kinds.ts";
import { group, optional, type OptionTable } from "./option.ts";
import { deployed, projectSource } from "./sources.ts";

const without = <T extends OptionTable, K extends keyof T>(table: T, ...keys: K[]): Omit<T, K> =>
  Object.fromEntries(Object.entries(table).filter(([key]) => !keys.includes(key as K))) as Omit<T, K>;

const unsupervised = without(agent, ...(Object.keys(supervision) as (keyof typeof supervision)[]));

/** Options of `upgrade`: those of a deployment, without those about plugins. */
export const upgrade = {
  ...{ projectId: deployed.projectId, version: deployed.version },
  ...without(projectSource, "signingSecret", "gitToken"),
  ...without(unsupervised, "acceptRights", "provisionersConfig", "notifiersConfig", "templateEnv", "pluginSecretKey"),
  ...group("Deployment", {
    projectRoot: optional(
      path({
        help: "Folder for the versions that are kept",
        defaultText: "/var/lib/sealift/upgrade as root, else ~/.local/state/sealift/upgrade",
      }),
    ),
  }),
};

/** Options of `systemd install`. */
export const systemd = group("Units", {
  projectRoot: path({ help: "What the watch deploys into and the runtime runs", default: "/srv/sealift" }),
  root: path({
    name: "image-root",
    flag: "--root",
    help: "Write below this folder, for images that are being built",
    default: "/",
  }),
  dryRun: flag({ help: "Print the files, write nothing" }),
  force: flag({ help: "Replace files that were edited" }),
});
