import { Ed25519Verifier } from "../../artifact/signatures/ed25519.ts";
import type { AuthorSignature } from "../../contract/surfaces/marketplace.ts";
import { conflict, HubError, notFound, unprocessable } from "../base/errors.ts";
import type { Blobs } from "../blobs/port.ts";
import { blobBytes } from "../http/ranges.ts";
import { changeTarget } from "../records/latest/change-target.ts";
import { inTransaction, type Records } from "../records/port.ts";
import type { Project } from "../records/projects.ts";
import { updateWhere } from "../records/rows.ts";
import { findVersion, type Version } from "../records/versions.ts";
import type { OnPublished } from "./publication.ts";
import { admitSigner, decode, requireSigner, storedSignature } from "./signed-bytes.ts";

/**
 * Adds its author's signature to a published archive, such as an imported one. Repeating the call with the same signer
 * changes nothing.
 *
 * @throws HubError 400 for a signature of other bytes, 403 for a signer that is not registered, 404, 409 for a
 *   version that another key has signed, 422 for a project, whose artifacts are signed when they are published
 */
export async function addSignature(
  hub: Records & { blobs: Blobs },
  project: Project,
  version: string,
  { signature_ed25519: signature, signer_public_key: key }: AuthorSignature,
  onPublished: OnPublished<Version>,
): Promise<void> {
  const db = hub.database.kysely;
  const noSuchVersion = () => notFound(`The ${project.kind} has no such version.`);
  if (project.kind === "project") throw unprocessable("The versions of a project are signed when they are published.");
  const found = await findVersion(db, project.id, version);
  if (found === undefined) throw noSuchVersion();
  await admitSigner(db, project.id, key);
  await verify(hub.blobs, found, { signature, key });
  const signed = storedSignature({ signature, signer_public_key: key });
  await inTransaction(db, (transaction) =>
    changeTarget(transaction, project.id, hub.clock(), async (target) => {
      await requireSigner(transaction, target, key);
      // Another publication may have replaced the bytes that were read.
      const current = await findVersion(transaction, project.id, version);
      if (current?.id !== found.id) throw noSuchVersion();
      if (current.signer_public_key === signed.signer_public_key) return;
      if (current.signer_public_key !== null) throw conflict("Another key has signed the version already.");
      await updateWhere(transaction, "blobs", { id: current.id }).set(signed).execute();
      await onPublished(transaction, { ...current, ...signed });
    }),
  );
}

async function verify(
  blobs: Blobs,
  { id, size_bytes, sha256 }: Version,
  { signature, key }: { signature: string; key: string },
): Promise<void> {
  const verifier = new Ed25519Verifier(decode(key), decode(signature));
  const bytes = await blobBytes(blobs, { id, size: Number(size_bytes), sha256 }).read(undefined);
  for await (const chunk of bytes as AsyncIterable<Buffer>) verifier.update(chunk);
  if (!verifier.verify())
    throw new HubError(400, "signature_rejected", "The signature does not verify over the stored bytes.");
}
