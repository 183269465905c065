import type { PublishingFeature } from "../publishing/feature.ts";

interface StagingOptions {
  stage?: boolean;
}

/** Publishing a version that waits for another person's approval. */
export const staging: PublishingFeature = {
  isStaged: ({ stage }: StagingOptions) => stage === true,
  async waitingDigest({ stage }: StagingOptions, hub, { project_id: id, version }) {
    if (stage !== true) return undefined;
    const { StagingClient } = await import("../../lib/client/staging.ts");
    // It may have been approved meanwhile.
    const staged = await new StagingClient(hub).show(id, version).catch(() => undefined);
    return staged?.sha256;
  },
};
