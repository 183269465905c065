import { HubError } from "../ground/errors.ts";
import { type Keyring, sealInTransaction } from "../keys/keyring.ts";
import { dekContext } from "../keys/sealing.ts";
import type { Queries, Transacted } from "../records/port.ts";
import { standingOf } from "../records/signers.ts";
import type { SealedTable } from "../records/version-tables.ts";
import type { PublicationParts, Told } from "./publication.ts";

/** The fields of a form that signs its file: base64. */
export interface SignedFields {
  dek: string;
  signature: string;
  signer_public_key: string;
}

export const decode = (base64: string) => Buffer.from(base64, "base64");
/** The one form of a base64 text in which it is stored, compared and looked up. */
export const canonical = (base64: string) => decode(base64).toString("base64");

/**
 * Requires that a project's register, where there is one, holds the signer.
 *
 * @param signer base64
 * @throws HubError 403
 */
export async function requireSigner(db: Queries, projectId: string, signer: string): Promise<void> {
  const standing = await standingOf(db, projectId, signer);
  if (standing === "active" || standing === "no register") return;
  const key = decode(signer).toString("hex");
  const why = standing === "unknown" ? "is not in the project's register" : `was ${standing}`;
  throw new HubError(403, "signer_refused", `The signer ${key} ${why}; see \`sealift signer list\`.`);
}

/** The parts of the hub that publishing sealed bytes needs. */
export interface SealedParts extends PublicationParts {
  keyring: Keyring;
}

interface SealedInsertion<Row extends { id: string }> {
  id: string;
  projectId: string;
  /** ISO 8601. */
  now: string;
  fields: SignedFields;
  insert: (transaction: Transacted, sealed: Omit<SealedTable, "id" | "project_id">) => Promise<Row>;
  told: Told<Row>;
}

/**
 * Stores the record of a signer who may publish, with its DEK sealed, and tells of a new one.
 *
 * @returns the record that stands now
 */
export const insertSealed = <Row extends { id: string }>(
  { database, keyring }: Pick<SealedParts, "database" | "keyring">,
  { id, projectId, now, fields, insert, told }: SealedInsertion<Row>,
): Promise<Row> =>
  sealInTransaction(
    { db: database.kysely, keyring, now },
    decode(fields.dek),
    dekContext(projectId, id),
    async (transaction, { kekId, sealed }) => {
      const [signature, signer_public_key] = [canonical(fields.signature), canonical(fields.signer_public_key)];
      await requireSigner(transaction, projectId, fields.signer_public_key);
      const record = await insert(transaction, { signature, signer_public_key, kek_id: kekId, sealed_dek: sealed });
      if (record.id === id) await told(transaction, record);
      return record;
    },
  );
