import type { StatementKind, StatementRecord } from "../../../contract/statements/statements.ts";
import { HubError, notFound } from "../../base/errors.ts";
import { admitBytes } from "../../records/hooks.ts";
import type { Locked } from "../../records/locked.ts";
import type { Queries, Transacted, TransactedIn } from "../../records/port.ts";
import type { Project } from "../../records/projects.ts";
import { deleteWhere, updateWhere } from "../../records/rows.ts";
import { type BlobsTable, UNSIGNED } from "../../records/version-tables.ts";
import { findVersionById, insertBlob, type Version } from "../../records/versions.ts";
import type { OwnTables, StatementsTable } from "./tables.ts";

/** The database with the tables of this feature. */
const own = (db: Queries) => db.withTables<OwnTables>();

/** Statement, with its blob. */
export type Statement = StatementsTable & Pick<BlobsTable, "size_bytes" | "sha256">;

const statementsOf = (db: Queries) =>
  own(db)
    .selectFrom("blobs as b")
    .innerJoin("statements as s", "s.id", "b.id")
    .selectAll("s")
    .select(["b.size_bytes", "b.sha256"]);

/** Lists the statements of a version, in the order of their kinds. */
export const listStatements = (db: Queries, versionId: string): Promise<Statement[]> =>
  statementsOf(db)
    .where("b.version_id", "=", versionId)
    .where("b.part", "=", "statement")
    .orderBy("b.base_version")
    .execute();

/** Returns the kinds of statements that versions have, by version id. */
export async function statementKinds(db: Queries, versions: readonly string[]): Promise<Map<string, string[]>> {
  const kinds = new Map(versions.map((id): [string, string[]] => [id, []]));
  if (versions.length === 0) return kinds;
  const rows = await db
    .selectFrom("blobs")
    .select(["version_id", "base_version as kind"])
    .where("version_id", "in", versions)
    .where("part", "=", "statement")
    .orderBy("base_version")
    .execute();
  for (const { version_id, kind } of rows) kinds.get(version_id)?.push(kind);
  return kinds;
}

export const findStatement = (db: Queries, versionId: string, kind: StatementKind): Promise<Statement | undefined> =>
  statementsOf(db)
    .where("b.version_id", "=", versionId)
    .where("b.part", "=", "statement")
    .where("b.base_version", "=", kind)
    .executeTakeFirst();

export const findStatementById = (db: Queries, id: string): Promise<Statement | undefined> =>
  statementsOf(db).where("b.id", "=", id).executeTakeFirst();

export function statementRecord({ id: _, size_bytes, ...record }: Statement): StatementRecord {
  return { ...record, size_bytes: Number(size_bytes) };
}

/** Statement to be added to a version. */
interface Insertion {
  version: Version;
  statement: Statement;
  /** Id of a statement whose bytes are gone: the new one takes its place. */
  lost: string | undefined;
}

/**
 * Adds a statement to a version of a project: of two concurrent uploads the second sees the first.
 *
 * @returns the statement of this kind that the version has now: the new one or an earlier one, which gains its
 *   endorsement where the version was signed after it
 * @throws HubError 404 for a version that was deleted or replaced meanwhile, and when a feature does not admit it
 */
export async function insertStatement<In>(
  transaction: TransactedIn<In>,
  project: Locked<Project, In>,
  { version: { id: version_id }, statement: { size_bytes, sha256, ...facts }, lost }: Insertion,
): Promise<{ record: Statement; hasChanged: boolean }> {
  if ((await findVersionById(transaction, version_id)) === undefined)
    throw notFound("The version was deleted meanwhile.");
  if (lost !== undefined) await deleteWhere(transaction, "blobs", { id: lost }).execute();
  const existing = await findStatement(transaction, version_id, facts.kind);
  if (existing !== undefined) return endorse(transaction, existing, { ...facts, sha256 });
  await admitBytes(transaction, { project, bytes: size_bytes, versions: 0 });
  const ledger = {
    id: facts.id,
    version_id,
    project_id: project.id,
    part: "statement",
    base_version: facts.kind,
  } as const;
  await insertBlob(transaction, { ...ledger, base_content_sha256: null, size_bytes, sha256, ...UNSIGNED }, null);
  await own(transaction).insertInto("statements").values(facts).execute();
  return { record: { ...facts, size_bytes, sha256 }, hasChanged: true };
}

/** Adds the endorsement of a version's signer to a statement that has come before the version was signed. */
async function endorse(
  transaction: Transacted,
  existing: Statement,
  { signature, signer_public_key, sha256 }: Omit<Statement, "size_bytes">,
): Promise<{ record: Statement; hasChanged: boolean }> {
  const isNew = existing.signature === null && signature !== null && existing.sha256 === sha256;
  if (!isNew) return { record: existing, hasChanged: false };
  const endorsement = { signature, signer_public_key };
  await updateWhere(own(transaction), "statements", { id: existing.id }).set(endorsement).execute();
  return { record: { ...existing, ...endorsement }, hasChanged: true };
}

/** Returns the refusal of a second statement of a kind. */
export const statementExists = (kind: StatementKind): HubError =>
  new HubError(409, "conflict", `The version has another statement of the kind ${kind} already, which stays.`);
