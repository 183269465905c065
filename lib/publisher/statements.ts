import { publicKeyOf } from "../artifact/signatures/ed25519.ts";
import { readBill } from "../artifact/statements/bill.ts";
import { readProvenance } from "../artifact/statements/provenance.ts";
import type { HubConnection } from "../client/hub-connection.ts";
import { type NewStatement, StatementsClient } from "../client/statements.ts";
import { publishError, usageError } from "../contract/errors.ts";
import { STATEMENT_BYTES, type StatementKind, type StatementRecord } from "../contract/statements/statements.ts";
import type { Target } from "../contract/target.ts";
import { readFault, readFileUpTo } from "../support/files.ts";

/** Statements of a publication: files, and the reason for its urgency. */
export interface GivenStatements {
  provenance?: string | undefined;
  sbom?: string | undefined;
  urgent?: string | undefined;
}

/** A version that statements are added to. The digest of a project's tree tells that the hub means the same one. */
interface StatedVersion {
  version: string;
  content_sha256?: string;
}

async function* once(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes;
}

/** Reads a file of a statement. @throws UsageError `usage` for one that cannot be read or is too large */
async function readLimited(kind: StatementKind, file: string): Promise<Buffer> {
  return await readFileUpTo(file, STATEMENT_BYTES[kind]).catch((error: Error) => {
    throw usageError("usage", `--${kind} ${file} cannot be read: ${readFault(error)}.`);
  });
}

/**
 * Reads the statements of a publication and checks their form, before anything is published.
 *
 * @throws UsageError `usage`; ArtifactError `statement_invalid`
 */
export async function readStatements({ provenance, sbom, urgent }: GivenStatements): Promise<NewStatement[]> {
  const found: NewStatement[] = [];
  if (provenance !== undefined) {
    const bytes = await readLimited("provenance", provenance);
    readProvenance(bytes);
    found.push({ kind: "provenance", bytes });
  }
  if (sbom !== undefined) {
    const bytes = await readLimited("sbom", sbom);
    await readBill(once(bytes));
    found.push({ kind: "sbom", bytes });
  }
  if (urgent !== undefined) found.push({ kind: "urgent", bytes: Buffer.from(JSON.stringify({ reason: urgent })) });
  return found;
}

/**
 * Adds statements to a version that was just published, or that existed with the same content.
 *
 * @param seed of the version's signer; undefined for an unsigned archive
 * @throws AuthenticationError, PublishError
 */
export async function addStatements(
  hub: HubConnection,
  target: Target,
  { version, content_sha256: expected }: StatedVersion,
  statements: readonly NewStatement[],
  seed: Uint8Array | undefined,
): Promise<StatementRecord[]> {
  const client = new StatementsClient(target, hub);
  const { artifact_sha256, content_sha256 } = await client.list(version);
  if (expected !== undefined && content_sha256 !== expected)
    throw publishError("bad_answer", `The hub lists ${version} with another tree than the published one.`);
  const signer = seed && { seed, publicKey: Buffer.from(publicKeyOf(seed)).toString("base64") };
  const added: StatementRecord[] = [];
  for (const statement of statements)
    added.push(await client.add(statement, { version, artifact_sha256, content_sha256 }, signer));
  return added;
}
