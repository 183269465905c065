/** The place of a plugin on this host. */
export interface PluginLocation {
  /** The folder's name under the plugins folder: the id that it was deployed under. */
  id: string;
  /** The plugins folder's own path to it, a link where the agent deployed it. */
  path: string;
  /** Its real path: the release. */
  folder: string;
  /**
   * The real path of the host's store for its data, which `data/` of every release links to; absent outside of that
   * layout.
   */
  hostData: string | undefined;
}

/** Returns the release that a plugin stands in: none where no agent has deployed it. */
export function releaseOf({ folder }: PluginLocation): string | undefined {
  return /\/\.sealift\/releases\/[^/]+\/([^/]+)\/plugins\/[^/]+$/.exec(folder)?.[1];
}
