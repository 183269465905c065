import type { HubFeature } from "../feature.ts";
import { importRoute } from "./routes.ts";
import { type SourceHost, SourceHosts } from "./source-hosts.ts";

export interface ImportOptions {
  /** The hosts to import from, the default one first. Default: github.com, gitlab.com, codeberg.org. */
  sourceHosts?: readonly SourceHost[];
}

/** Publishing a version from a tag of its source host, which the hub fetches and signs. */
export const importing: HubFeature<ImportOptions> = {
  name: "import",
  start: async (_core, options) => {
    const sourceHosts = new SourceHosts(options.sourceHosts);
    return {
      routes: (mount) => [importRoute(mount, "plugin", sourceHosts), importRoute(mount, "service", sourceHosts)],
    };
  },
};
