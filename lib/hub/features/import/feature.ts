import type { HubFeature } from "../feature.ts";
import type { SourceHost } from "./source-hosts.ts";

export interface ImportOptions {
  /** The hosts to import from, the default one first. Default: github.com, gitlab.com, codeberg.org. */
  sourceHosts?: readonly SourceHost[];
}

/** Publishing a version from a tag of its source host, which the hub fetches and signs. */
export const importing: HubFeature<ImportOptions> = {
  name: "import",
  async start(_core, { sourceHosts }) {
    const [{ SourceHosts }, { importRoute }] = await Promise.all([import("./source-hosts.ts"), import("./routes.ts")]);
    return { mounts: { marketplace: [importRoute(new SourceHosts(sourceHosts))] } };
  },
};
