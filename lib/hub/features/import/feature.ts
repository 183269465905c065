import type { HubFeature } from "../feature.ts";
import { importRoute } from "./routes.ts";
import { type SourceHost, SourceHosts } from "./source-hosts.ts";

export interface ImportOptions {
  /** Hosts to import from, the default one first. Default: github.com, gitlab.com, codeberg.org. */
  sourceHosts?: readonly SourceHost[];
}

/** Import of versions from tags of source hosts: the hub fetches and signs them. */
export const importing: HubFeature<ImportOptions> = {
  name: "import",
  start: async (_core, options) => {
    const sourceHosts = new SourceHosts(options.sourceHosts);
    return {
      routes: (mount) => [importRoute(mount, "plugin", sourceHosts), importRoute(mount, "service", sourceHosts)],
    };
  },
};
