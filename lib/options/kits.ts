import { KIT_LIFETIME_S } from "../contract/kits/limits.ts";
import { agent } from "./agent.ts";
import { connection } from "./connection.ts";
import { hostSettings } from "./host-settings.ts";
import { duration, flag, list, path, text } from "./kinds.ts";
import { group, guarded, type Known, type Option, optional, required, requiredWhen } from "./option.ts";
import { marketplaceSource, projectSource } from "./sources.ts";

/** Options of kits for hosts without network, and of deployments from one. */

const asksHub = ({ from, kitSource }: Known): boolean => from === undefined && kitSource === undefined;

/** Returns an option that is needed unless a kit takes the hub's place; a secret is not read then. */
const withHub = <T>(option: Option<T>): Option<T> => requiredWhen(option, asksHub) as unknown as Option<T>;

/** Options of a hub that a kit can take the place of. */
const hubUnlessKit = { hubUrl: guarded(withHub(connection.hubUrl)), apiKey: withHub(connection.apiKey) };

const allowEnded = flag({ help: "Take a kit that has ended, with a warning" });

/** Options of a watched target by which a folder, such as that of a stick, takes the hub's place. */
const watchedKit = group("Kit", {
  kitSource: guarded(path({ name: "source", metavar: "FOLDER", help: "Folder that kits come to, in place of a hub" })),
  allowEnded,
});
export const watchedProject = {
  ...agent,
  ...projectSource,
  deploymentCredential: withHub(projectSource.deploymentCredential),
  ...hubUnlessKit,
  ...watchedKit,
};
export const watchedArchive = {
  ...agent,
  ...marketplaceSource,
  ...hubUnlessKit,
  ...watchedKit,
  ...group("Kit", { hostKey: hostSettings.hostKey }),
};

/** Options of the deploy commands by which a kit takes the hub's place. */
const fromKit = group("Kit", {
  from: guarded(path({ name: "kit-from", flag: "--from", metavar: "FOLDER", help: "Kit to take in place of a hub" })),
  hostKey: requiredWhen(
    hostSettings.hostKey,
    ({ from }) => from !== undefined,
    "`sealift host key` makes it: host.key.",
  ),
  allowEnded,
});

/** Options of `deploy-project` and `deploy-marketplace`. */
export const deployProject = {
  ...projectSource,
  deploymentCredential: withHub(projectSource.deploymentCredential),
  ...agent,
  ...hubUnlessKit,
  ...fromKit,
};
export const deployMarketplace = {
  ...marketplaceSource,
  ...agent,
  ...hubUnlessKit,
  ...fromKit,
};

const out = path({ name: "kit-out", flag: "--out", metavar: "FOLDER", help: "Folder of the kit, new or empty" });

/** Options of `kit make`. */
export const kitMake = {
  ...group("Kit", {
    hosts: list(
      { name: "kit-host", flag: "--host", metavar: "HOST[=LINE]", help: "Host that gets it; may be repeated" },
      String,
    ),
    out: required(out),
    version: text({ metavar: "VERSION", help: "Version of the kit", default: "latest" }),
    lastsMs: duration({
      name: "kit-expires",
      flag: "--expires",
      needsUnit: true,
      help: "How long hosts take it",
      minMs: KIT_LIFETIME_S.min * 1000,
      maxMs: KIT_LIFETIME_S.max * 1000,
      default: KIT_LIFETIME_S.default * 1000,
    }),
    roll: path({ name: "kit-roll", flag: "--roll", metavar: "FILE", help: "fleet.lock to check hosts' keys with" }),
    project: text({
      name: "kit-project",
      flag: "--project",
      metavar: "PROJECT",
      help: "Project of the hosts, for a plugin or service",
    }),
    deploymentCredential: optional({ ...projectSource.deploymentCredential, help: "For the kit of a project" }),
  }),
  ...connection,
};

/** Options of `kit list`, `kit end`, `kit key` and `kit submit`. */
export const kitList = {
  ...group("Kit", {
    ofHost: text({ name: "kit-of-host", flag: "--host", metavar: "HOST", help: "Only kits for this host" }),
    live: flag({ help: "Only kits that have not ended" }),
  }),
  ...connection,
};
export const kitEnd = { ...connection };
export const kitKey = { ...connection };
export const kitSubmit = { ...connection };

/** Options of `kit show`. */
export const kitShow = group("Kit", { hostKey: hostSettings.hostKey });

/** Options of `kit collect`. */
export const kitCollect = {
  ...group("Kit", { hostKey: required(hostSettings.hostKey) }),
  projectRoot: agent.projectRoot,
  labels: agent.labels,
};
