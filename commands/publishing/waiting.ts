import type { HubConnection } from "../../lib/client/hub-connection.ts";
import type { PublishResult } from "../../lib/contract/surfaces/deploy.ts";

export const STAGED = { name: "staged", cause: "uploaded" } as const;

/** A publication that has ended. */
interface Ended {
  outcome: "published" | "unchanged" | "built";
  record: PublishResult | undefined;
  /** Whether the publication asked to stage its version. */
  stage: boolean;
}

/** Returns the digest of a version that waits for approval after its publication; undefined for one that does not. */
export async function waitingDigest(
  { outcome, record, stage }: Ended,
  hub: HubConnection | undefined,
  { project_id: id, version }: { project_id: string; version: string },
): Promise<string | undefined> {
  if (record !== undefined) return record.state?.name === "staged" ? (record.artifact_sha256 ?? "") : undefined;
  if (outcome !== "unchanged" || !stage || hub === undefined) return undefined;
  const { StagingClient } = await import("../../lib/client/staging.ts");
  // It may have been approved meanwhile.
  const staged = await new StagingClient(hub).show(id, version).catch(() => undefined);
  return staged?.sha256;
}
