import { createHash, createHmac } from "node:crypto";
import { SIGNATURE_PREFIX } from "../../../contract/surfaces/headers.ts";
import type { ImportRequest } from "../../../contract/surfaces/marketplace.ts";
import type { MarketplaceKind } from "../../../contract/surfaces/paths.ts";
import { countBuffered } from "../../buffer-collection.ts";
import type { HubContext } from "../../context.ts";
import type { Version } from "../../records/targets.ts";
import type { VisibleTarget } from "../../records/visible-targets.ts";
import { publishArchive } from "../archive.ts";
import type { Published, Told } from "../publication.ts";
import { fetchArchive } from "./fetch-archive.ts";
import { signingSecretOf } from "./signing-secret.ts";

/**
 * Publishes a version from its source host: the archive is fetched as a stream, hashed and signed with the owner's
 * registered
 * secret on its way to the blob store, and then checked and published like an uploaded one.
 */
export async function importVersion(
  hub: HubContext,
  target: VisibleTarget & { kind: MarketplaceKind },
  { version, repo, host: hostName, visibility }: ImportRequest,
  told: Told<Version>,
  signal: AbortSignal,
): Promise<Published<Version>> {
  const host = hub.sourceHosts.find(hostName);
  const secret = await signingSecretOf(hub, target.owner);
  const hash = createHash("sha256");
  const hmac = createHmac("sha256", secret);
  await using blob = await hub.blobs.create();
  for await (const chunk of fetchArchive(hub, host, repo, { signal })) {
    hash.update(chunk);
    hmac.update(chunk);
    await blob.write(chunk);
    countBuffered(chunk.length);
  }
  await blob.flush();
  const signature = SIGNATURE_PREFIX + hmac.digest("hex");
  const fields = { version, signature, repo, ...(visibility !== undefined && { visibility }) };
  return await publishArchive(hub, target, fields, { blob, sha256: hash.digest("hex") }, told);
}
