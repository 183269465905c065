import * as z from "zod";
import { sha256Hex } from "../../../contract/identifiers.ts";
import { PUBLISHER_SCOPES } from "../../../contract/publishers/claims.ts";
import { json, name, projectId, text, time } from "../../records/columns.ts";
import { apiKeys, projects } from "../../records/core-tables.ts";
import { type RowOf, table } from "../../records/table.ts";

/** CI workflows that may publish to a target. */
export const publishers = table(
  "publishers",
  {
    id: name,
    name,
    owner: name,
    /** Null until it has created its target. */
    project_id: projectId.nullable(),
    /** Target that it will create, as `kind:SLUG`, with the future id of a project; null once it exists. */
    pending: text.nullable(),
    /** Display name of the target that it will create; null once it exists. */
    pending_name: text.nullable(),
    issuer: name,
    audience: name,
    /** Scope of its keys. */
    scope: z.enum(PUBLISHER_SCOPES),
    /** JSON object of claim names and their values. */
    claims: json,
    created_at: time,
    /** Id of the key that added it. */
    created_by: name,
    last_used_at: time.nullable(),
    /** JSON list of the ends of the key that added it, which its runs have, too; null in 0.1.0. */
    ends: json.nullable(),
  },
  {
    indexes: {
      publishers_owner: ["owner", "id"],
      publishers_project: ["project_id"],
      publishers_pending: ["pending"],
    },
    references: { project_id: projects },
    added: { "0006-ends": { columns: ["ends"], indexes: {} } },
  },
);
export type PublishersTable = RowOf<typeof publishers>;

/** Live keys of publishers, revoked together with them. */
export const publisherKeys = table(
  "publisher_keys",
  { key_id: name, publisher_id: name },
  {
    key: ["key_id"],
    indexes: { publisher_keys_publisher: ["publisher_id"] },
    references: { key_id: { table: apiKeys, cascades: true }, publisher_id: { table: publishers, cascades: true } },
  },
);

/** Exchanged identity tokens, kept until they expire: each is accepted once, by whichever hub. */
export const usedTokens = table(
  "used_tokens",
  {
    /** SHA-256 of the issuer and the token's id. */
    hash: sha256Hex,
    expires_at: time,
  },
  { key: ["hash"], indexes: { used_tokens_expiry: ["expires_at"] } },
);

/** The rows of each table, as kysely reads and writes them. */
export type OwnTables = {
  publishers: PublishersTable;
  publisher_keys: RowOf<typeof publisherKeys>;
  used_tokens: RowOf<typeof usedTokens>;
};
