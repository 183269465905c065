import type { HubConnection } from "../../lib/client/hub-connection.ts";
import type { VersionRecord } from "../../lib/contract/surfaces/marketplace.ts";
import type { MarketplaceKind } from "../../lib/contract/surfaces/paths.ts";
import type { Target } from "../../lib/contract/target.ts";

/** A key of one publication, and the project that it is for. */
export interface PublicationKey {
  key: string;
  project_id: string;
  name: string;
}

/** A published version. The digest of a project's tree tells that the hub means the same one. */
export interface PublishedVersion {
  version: string;
  content_sha256?: string;
}

/** Additions to a version, read and found sound before it is published. */
export interface Additions {
  /** Adds them to the published version. @param seed of its signer, where it has one */
  add: (target: Target, version: PublishedVersion, seed: Uint8Array | undefined) => Promise<Added>;
}

/** Fields of the result of a publication, and lines for people. */
export interface Added {
  result: object;
  lines: readonly (readonly [name: string, bytes: number])[];
}

/** Has a hub fetch the archive of a version in place of an upload. */
export type Fetch = (
  target: { kind: MarketplaceKind; slug: string },
  fields: { version: string; visibility?: "public" | "private"; stage?: boolean },
  hub: HubConnection,
) => Promise<VersionRecord>;

/**
 * A feature's part in the commands that publish. Its options are in `lib/options/publish.ts` and
 * `lib/options/marketplace.ts`; each method gets the options of the command, which may lack those of the feature.
 */
export interface PublishingFeature {
  /** Gets a key for this publication, where the options ask for one in place of a stored key. */
  keyFor?(
    options: object,
    target: string,
    transport: Pick<HubConnection, "timeoutMs"> & { hubUrl: string; signal: AbortSignal },
  ): Promise<PublicationKey | undefined>;
  /** Reads what is to be added to the version. @throws UsageError `usage`, also without a hub; ArtifactError */
  prepare?(options: object, hub: HubConnection | undefined): Promise<Additions | undefined>;
  /** Returns the fetch in place of an upload, where the options ask for it. */
  fetch?(options: object): Fetch | undefined;
  /** Tells whether the options have the version wait for approval. */
  isStaged?(options: object): boolean;
  /** Finds the digest of a version that was there already and waits for approval. */
  waitingDigest?(
    options: object,
    hub: HubConnection,
    version: { project_id: string; version: string },
  ): Promise<string | undefined>;
}
