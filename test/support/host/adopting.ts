/** A plugin that was installed by hand, and the version that is deployed over it. */
import { DEPLOY_DEFAULTS, type DeployOptions } from "../../../lib/agent/deployment/run.ts";
import { INSTALL, sourceOf } from "./given-source.ts";

/** The files of the plugin; each of them names its version. */
export const FILES = ["version", "deep/er/version"];

const filesOf = (version: string): Record<string, string> =>
  Object.fromEntries(FILES.map((name) => [`plugins/a/${name}`, version]));

export const BY_HAND = { ...filesOf("by hand"), "plugins/a/data/own": "own" };

export const ADOPTING = sourceOf("1.0.0", INSTALL, { files: { ...filesOf("1.0.0"), "plugins/a/data/seed": "seed" } });

/** Without waiting for the disk: a kill is not a power cut, and the adoption is then most of the switch. */
export const adoptingOptions = (projectRoot: string): DeployOptions => ({
  ...{ ...DEPLOY_DEFAULTS, projectRoot, hostId: "host", durability: "none" },
  supervisor: { name: "none" },
});
