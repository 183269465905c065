import type { PublishingFeature } from "../publishing/feature.ts";

interface StagingOptions {
  stage?: boolean;
}

/** Publishing a version that waits for another person's approval. */
export const staging: PublishingFeature = {
  isStaged: ({ stage }: StagingOptions) => stage === true,
  async waitingDigest({ stage }: StagingOptions, hub, { project_id: id, version }) {
    if (stage !== true) return undefined;
    const [{ callsOf }, routes] = await Promise.all([
      import("../../lib/client/calls.ts"),
      import("../../lib/contract/staging/routes.ts"),
    ]);
    // It may have been approved meanwhile.
    const shown = callsOf(routes, hub).showStaged({ params: { id, version } });
    const staged = await shown.catch(() => undefined);
    return staged?.sha256;
  },
};
