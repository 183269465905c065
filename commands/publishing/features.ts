import type { HubConnection } from "../../lib/client/hub-connection.ts";
import type { PublishResult } from "../../lib/contract/surfaces/deploy.ts";
import { importing } from "../import/publishing.ts";
import { publishers } from "../publishers/publishing.ts";
import { staging } from "../staging/publishing.ts";
import { statements } from "../statements/publishing.ts";
import type { Added, Additions, Fetch, PublicationKey, PublishingFeature } from "./feature.ts";

/** The features that take part in a publication. */
const FEATURES: readonly PublishingFeature[] = [publishers, statements, staging, importing];

/** Returns the first answer of a feature. */
async function first<T>(ask: (feature: PublishingFeature) => Promise<T | undefined> | undefined) {
  for (const feature of FEATURES) {
    const answer = await ask(feature);
    if (answer !== undefined) return answer;
  }
  return undefined;
}

export const keyFor = (
  ...given: Parameters<NonNullable<PublishingFeature["keyFor"]>>
): Promise<PublicationKey | undefined> => first((feature) => feature.keyFor?.(...given));

export const isStaged = (options: object): boolean => FEATURES.some((feature) => feature.isStaged?.(options) === true);

export const fetchOf = (options: object): Fetch | undefined =>
  FEATURES.map((feature) => feature.fetch?.(options)).find((fetch) => fetch !== undefined);

/** Reads the additions to a version of all features. @throws as `prepare` of a feature */
export async function additionsOf(options: object, hub: HubConnection | undefined): Promise<Additions> {
  const found: Additions[] = [];
  for (const feature of FEATURES) {
    const additions = await feature.prepare?.(options, hub);
    if (additions !== undefined) found.push(additions);
  }
  return {
    async add(...version) {
      const all: Added = { result: {}, lines: [] };
      for (const { add } of found) {
        const { result, lines } = await add(...version);
        all.result = { ...all.result, ...result };
        all.lines = [...all.lines, ...lines];
      }
      return all;
    },
  };
}

/** A publication of a project that has ended. */
interface Ended {
  outcome: "published" | "unchanged" | "built";
  record: PublishResult | undefined;
}

/** Returns the digest of a version that waits for approval after its publication; undefined for one that does not. */
export async function waitingDigest(
  { outcome, record }: Ended,
  options: object,
  hub: HubConnection | undefined,
  version: { project_id: string; version: string },
): Promise<string | undefined> {
  if (record !== undefined) return record.state?.name === "staged" ? (record.artifact_sha256 ?? "") : undefined;
  if (outcome !== "unchanged" || hub === undefined) return undefined;
  return first((feature) => feature.waitingDigest?.(options, hub, version));
}
