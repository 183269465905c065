import type { FastifyRequest } from "fastify";
import { isEndorsed } from "../../../artifact/statements/endorsement.ts";
import { SealiftError } from "../../../contract/errors.ts";
import {
  STATEMENT_BYTES,
  STATEMENT_PART,
  type StatementFields,
  statementFields,
  urgentStatement,
} from "../../../contract/statements/statements.ts";
import type { Target } from "../../../contract/target.ts";
import { parseSignedJson } from "../../../support/documents/signed-json.ts";
import { forbidden, HubError, tooLarge, unprocessable } from "../../base/errors.ts";
import { recordId } from "../../base/identity.ts";
import type { IncomingBlob } from "../../blobs/port.ts";
import { type OnPublished, publish, type Published } from "../../publications/publication.ts";
import { completeForm, receiveUpload, type UploadedFile } from "../../publications/receive.ts";
import { decode, requireSigner, type SealedParts } from "../../publications/signed-bytes.ts";
import { inTransaction } from "../../records/port.ts";
import { lockProject } from "../../records/projects.ts";
import type { Version } from "../../records/versions.ts";
import { findStatementById, insertStatement, type Statement, statementExists } from "./records.ts";

/** Published version, with its target. */
export interface PublishedVersion {
  target: Target;
  version: Version;
}

type Shape = Pick<Statement, "predicate_type" | "claimed_by" | "claimed_issuer">;

/**
 * Receives a statement of a published version, checks its form, subject and endorsement, and stores it with the
 * version's bytes (docs/contract/statements.md).
 *
 * @throws HubError 400 for an endorsement that does not verify, 403 for one of another signer, 409 for a second
 *   statement of the kind, 413, 422
 */
export async function receiveStatement(
  hub: SealedParts,
  { target, version }: PublishedVersion,
  request: FastifyRequest,
  onPublished: OnPublished<Statement>,
): Promise<Published<Statement>> {
  await using upload = await receiveUpload(request, {
    blobs: hub.blobs,
    part: STATEMENT_PART.name,
    maxBytes: Math.min(hub.maxArtifactBytes, Math.max(...Object.values(STATEMENT_BYTES))),
  });
  const { fields, file } = completeForm(upload, STATEMENT_PART.name, statementFields);
  const { kind } = fields;
  if (file.blob.size > STATEMENT_BYTES[kind])
    throw tooLarge(`A statement of the kind ${kind} has at most ${STATEMENT_BYTES[kind]} bytes.`);
  const endorsed = requireEndorsement({ target, version }, fields, file);
  const shape = await shapeOf(fields, file.blob, version);
  const id = recordId("stm", hub.clock());
  const db = hub.database.kysely;
  const statement: Statement = {
    ...{ id, kind, ...shape, ...endorsed, created_at: hub.now() },
    ...{ size_bytes: file.blob.size, sha256: file.sha256 },
  };
  return await publish<Statement>(hub, {
    kind: "statement",
    id,
    blob: file.blob,
    find: () => findStatementById(db, id),
    insert: (lost) =>
      inTransaction(db, async (transaction) => {
        const project = await lockProject(transaction, version.project_id);
        if (endorsed.signer_public_key !== null) await requireSigner(transaction, project, endorsed.signer_public_key);
        const { record, hasChanged } = await insertStatement(transaction, project, { version, statement, lost });
        if (hasChanged) await onPublished(transaction, record);
        return record;
      }),
    isSameContent: (existing) => existing.sha256 === file.sha256,
    refusal: (existing) => (existing.sha256 === file.sha256 ? undefined : statementExists(kind)),
  });
}

/** Requires an endorsement by the version's signer. A version without a signer needs none. */
function requireEndorsement(
  { target, version }: PublishedVersion,
  { kind, signature, signer_public_key: key }: StatementFields,
  { sha256 }: UploadedFile,
): Pick<Statement, "signature" | "signer_public_key"> {
  const { signer_public_key: signer } = version;
  if (signer === null) {
    if (signature !== undefined || key !== undefined)
      throw unprocessable("signature, signer_public_key: the version has no signer; its author signs it first.");
    if (kind === "urgent") throw unprocessable("kind: urgent is a word of the version's signer, and it has none.");
    return { signature: null, signer_public_key: null };
  }
  if (signature === undefined || key === undefined)
    throw unprocessable("signature, signer_public_key: are missing, and the version is signed.");
  if (key !== signer) throw forbidden("The statement was signed by another key than the version.");
  const { version: label, sha256: artifact_sha256, content_sha256 } = version;
  const endorsed = { target, version: label, artifact_sha256, content_sha256, kind, sha256 };
  if (!isEndorsed(endorsed, decode(signature), decode(key)))
    throw new HubError(400, "signature_rejected", "The signature does not verify over the statement's endorsement.");
  return { signature, signer_public_key: key };
}

/** Checks the bytes of a statement as its readers will. @throws HubError 422 */
async function shapeOf({ kind }: StatementFields, blob: IncomingBlob, version: Version): Promise<Shape> {
  try {
    if (kind === "sbom") {
      const { billFacts } = await import("./bill-thread.ts");
      const { predicateType } = await billFacts(blob);
      return { predicate_type: predicateType, claimed_by: null, claimed_issuer: null };
    }
    const bytes = await wholeOf(blob);
    if (kind === "urgent") {
      requireUrgent(bytes);
      return { predicate_type: null, claimed_by: null, claimed_issuer: null };
    }
    const { readProvenance } = await import("../../../artifact/statements/provenance.ts");
    const { predicateType, subjects, claimed } = readProvenance(bytes);
    const { sha256, content_sha256 } = version;
    if (!subjects.some((subject) => subject === sha256 || subject === content_sha256))
      throw new HubError(422, "statement_invalid", "The provenance is about other bytes than the version's.");
    return {
      predicate_type: predicateType,
      claimed_by: claimed?.subject ?? null,
      claimed_issuer: claimed?.issuer ?? null,
    };
  } catch (error) {
    if (!(error instanceof SealiftError) || error.code !== "statement_invalid") throw error;
    throw new HubError(422, "statement_invalid", error.message, { cause: error });
  }
}

/** Reads a small statement whole. */
async function wholeOf(blob: IncomingBlob): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of blob.readBack()) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks);
}

function requireUrgent(bytes: Buffer): void {
  try {
    urgentStatement.parse(parseSignedJson(bytes.toString("utf8")));
  } catch (error) {
    throw new HubError(422, "statement_invalid", 'A statement of the kind urgent is {"reason": "TEXT"}.', {
      cause: error,
    });
  }
}
