import { publicKeyOf } from "../../artifact/signatures/ed25519.ts";
import { HubError } from "../base/errors.ts";
import { type Keyring, sealInTransaction } from "../keys/keyring.ts";
import { dekContext } from "../keys/sealing.ts";
import { signersOf } from "../records/artifacts.ts";
import type { Locked } from "../records/locked.ts";
import type { Queries, TransactedIn } from "../records/port.ts";
import { lockProject, type Project } from "../records/projects.ts";
import { signerState } from "../records/signers.ts";
import type { SealedDek } from "../records/version-tables.ts";
import type { OnPublished, PublicationParts } from "./publication.ts";

/** Fields of a form that sign its file, base64. */
export interface SignedFields {
  dek: string;
  signature: string;
  signer_public_key: string;
}

export const decode = (base64: string) => Buffer.from(base64, "base64");
/** Returns the canonical form of a base64 text, in which it is stored, compared and looked up. */
export const canonical = (base64: string) => decode(base64).toString("base64");
/** Returns the signature of a form as it is stored with the bytes. */
export const storedSignature = ({
  signature,
  signer_public_key: key,
}: Pick<SignedFields, "signature" | "signer_public_key">) => ({
  signature: canonical(signature),
  signer_public_key: canonical(key),
});

/**
 * Requires that the register of a project, plugin or service, if it has one, holds the signer. Its signers change under
 * its lock.
 *
 * @param signer base64; null for an archive that its author has not signed
 * @throws HubError 403
 */
export const requireSigner = <In>(
  transaction: TransactedIn<In>,
  { id }: Locked<Project, In>,
  signer: string | null,
): Promise<void> => refuseOthers(transaction, id, signer);

async function refuseOthers(db: Queries, projectId: string, signer: string | null): Promise<void> {
  const state = await signerState(db, projectId, signer ?? "");
  if (state === "active" || state === "no register") return;
  if (signer === null)
    throw new HubError(
      403,
      "signer_refused",
      "The archive is not signed by its author, and signers are registered; see `sealift signer list`.",
    );
  const key = decode(signer).toString("hex");
  const why = state === "unknown" ? "is not registered" : `was ${state}`;
  throw new HubError(403, "signer_refused", `The signer ${key} ${why}; see \`sealift signer list\`.`);
}

/**
 * Rejects a signer whose private key is an earlier public key: `signer.pub` was passed as `signer.key`.
 *
 * @throws HubError 400
 */
async function refusePublicSeed(db: Queries, projectId: string, signer: Buffer): Promise<void> {
  for await (const earlier of signersOf(db, projectId)) {
    if (!signer.equals(publicKeyOf(decode(earlier)))) continue;
    throw new HubError(
      400,
      "signature_rejected",
      "The artifact was signed with a public key in the place of the private one: everybody could sign with it. Sign with signer.key.",
    );
  }
}

/**
 * Requires, before the bytes of an upload are stored, a registered signer whose private key is not public.
 *
 * @param signer base64 @throws HubError 400, 403
 */
export async function admitSigner(db: Queries, projectId: string, signer: string): Promise<void> {
  await refuseOthers(db, projectId, signer);
  await refusePublicSeed(db, projectId, decode(signer));
}

/** Parts of the hub that publishing sealed bytes needs. */
export interface SealedParts extends PublicationParts {
  keyring: Keyring;
}

interface SealedInsertion<Row extends { id: string }> {
  id: string;
  projectId: string;
  /** Current time, ISO 8601. */
  now: string;
  fields: SignedFields;
  insert: <In>(transaction: TransactedIn<In>, dek: SealedDek) => Promise<Row>;
  onPublished: OnPublished<Row>;
}

/**
 * Stores the record of a signer who may publish, with its DEK sealed, and notes a new signer.
 *
 * @returns the record that is stored now
 */
export const insertSealed = <Row extends { id: string }>(
  { database, keyring }: Pick<SealedParts, "database" | "keyring">,
  { id, projectId, now, fields, insert, onPublished }: SealedInsertion<Row>,
): Promise<Row> =>
  sealInTransaction(
    { db: database.kysely, keyring, now },
    decode(fields.dek),
    dekContext(projectId, id),
    async (transaction, { kekId, sealed }) => {
      await requireSigner(transaction, await lockProject(transaction, projectId), fields.signer_public_key);
      const record = await insert(transaction, { kek_id: kekId, sealed_dek: sealed });
      if (record.id === id) await onPublished(transaction, record);
      return record;
    },
  );
