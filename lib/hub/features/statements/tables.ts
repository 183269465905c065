import * as z from "zod";
import { STATEMENT_KINDS } from "../../../contract/statements/statements.ts";
import { base64, blobId, text, time } from "../../records/columns.ts";
import { type RowOf, table } from "../../records/table.ts";
import { blobs } from "../../records/version-tables.ts";

/** Facts of a blob that is a statement of its version. */
export const statements = table(
  "statements",
  {
    id: blobId,
    kind: z.enum(STATEMENT_KINDS),
    predicate_type: text.nullable(),
    /** Identity and issuer named by the certificate of a provenance bundle, as claimed. */
    claimed_by: text.nullable(),
    claimed_issuer: text.nullable(),
    /**
     * Ed25519 signature of the version's signer over the endorsement; null, like the key, for a version without a
     * signer.
     */
    signature: base64.nullable(),
    signer_public_key: base64.nullable(),
    created_at: time,
  },
  { references: { id: { table: blobs, cascades: true } } },
);
export type StatementsTable = RowOf<typeof statements>;

/** The rows of each table, as kysely reads and writes them. */
export type OwnTables = { statements: StatementsTable };
