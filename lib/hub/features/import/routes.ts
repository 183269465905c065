import { createHash, createHmac } from "node:crypto";
import { importTargetVersion } from "../../../contract/import/routes.ts";
import { SIGNATURE_PREFIX } from "../../../contract/surfaces/headers.ts";
import type { ImportRequest } from "../../../contract/surfaces/marketplace.ts";
import type { MarketplaceKind } from "../../../contract/surfaces/paths.ts";
import type { MountOptions } from "../../access/authentication.ts";
import { type Served, serveRaw } from "../../access/serve.ts";
import { targetAccess } from "../../access/target-access.ts";
import { admitUpload } from "../../access/uploads.ts";
import { countBuffered } from "../../base/buffer-collection.ts";
import { HubError } from "../../base/errors.ts";
import { untilLeft } from "../../http/connections.ts";
import { openSecret } from "../../keys/hub-secret.ts";
import type { Keyring } from "../../keys/keyring.ts";
import { stagingCheck } from "../../publications/approval.ts";
import { type ArchiveParts, publishArchive, type PublishedTarget } from "../../publications/archive.ts";
import type { OnPublished, Published } from "../../publications/publication.ts";
import type { Records } from "../../records/port.ts";
import { signingSecretName } from "../../records/secrets.ts";
import { subjectOf } from "../../records/subjects.ts";
import { versionRecord } from "../../records/target-detail.ts";
import type { Version } from "../../records/versions.ts";
import type { VisibleTarget } from "../../records/visible-targets.ts";
import type { Core } from "../feature.ts";
import { fetchArchive, type SourceParts } from "./fetch-archive.ts";
import type { SourceHosts } from "./source-hosts.ts";

/** Returns the owner's registered signing secret. @throws 409 without one */
async function signingSecretOf(hub: Records & { keyring: Keyring }, owner: string): Promise<Buffer> {
  const secret = await openSecret(hub.database.kysely, hub.keyring, signingSecretName(owner));
  if (secret !== undefined) return secret;
  throw new HubError(409, "conflict", "The owner has registered no signing secret; see POST /devkeys/signing-key.");
}

/** Parts of the hub that an import needs. */
interface ImportParts extends ArchiveParts, SourceParts {
  keyring: Keyring;
}

/**
 * Publishes a version from its source host. Hashes the archive and signs it with the owner's registered secret while
 * storing it, then checks it like an upload.
 */
async function importVersion(
  hub: ImportParts,
  target: VisibleTarget & PublishedTarget,
  { version, repo, host: hostName, visibility, stage }: ImportRequest,
  onPublished: OnPublished<Version>,
  signal: AbortSignal,
): Promise<Published<Version>> {
  (await stagingCheck(hub.database.kysely, target.id, target.principal))({ stage: String(stage === true) });
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
  const asked = { ...(visibility !== undefined && { visibility }), ...(stage === true && { stage: "true" as const }) };
  const fields = { version, signature, repo, ...asked };
  return await publishArchive(hub, target, fields, { blob, sha256: hash.digest("hex") }, onPublished);
}

/** Returns the route that publishes a version of one kind from its source host. */
export function importRoute(options: MountOptions<Core>, kind: MarketplaceKind, sourceHosts: SourceHosts): Served {
  const { hub } = options;
  const access = targetAccess(kind, options);
  return serveRaw(importTargetVersion[kind], access.controlled, async (request, reply, target) => {
    // The source host has time limits of its own; until it is done nothing moves on this connection.
    request.raw.socket.setTimeout(0);
    const writeAudit = admitUpload(hub, request, reply, { principal: target.principal, projectId: target.id });
    const { record, created } = await importVersion(
      { ...hub, sourceHosts },
      { ...target, kind },
      request.body,
      (transaction, { version, state, sha256, repo }) =>
        writeAudit(transaction, {
          action: state === "staged" ? "version.stage" : "version.import",
          subject: subjectOf({ kind, slug: request.params.slug }),
          facts: { version, sha256, repo },
        }),
      untilLeft(reply),
    );
    return reply.code(created ? 201 : 200).send(versionRecord(record));
  });
}
