import * as z from "zod";
import { sha256Hex } from "../../../contract/identifiers.ts";
import { PUBLISHER_SCOPES } from "../../../contract/publishers/claims.ts";
import { json, name, projectId, text, time } from "../../records/columns.ts";
import { apiKeys, projects } from "../../records/core-tables.ts";
import { type RowOf, table } from "../../records/table.ts";

/** A workflow of a CI system that may publish to a target. */
export const publishers = table(
  "publishers",
  {
    id: name,
    name,
    owner: name,
    /** Null until it has created its target. */
    project_id: projectId.nullable(),
    /** The target that it creates, as `kind:SLUG`, with the id that a project will have; null when it is there. */
    pending: text.nullable(),
    /** Display name of the target that it creates; null when it is there. */
    pending_name: text.nullable(),
    issuer: name,
    audience: name,
    /** The right of its keys. */
    scope: z.enum(PUBLISHER_SCOPES),
    /** JSON object: names of claims and their values. */
    claims: json,
    created_at: time,
    /** Id of the key that added it. */
    created_by: name,
    last_used_at: time.nullable(),
  },
  {
    indexes: {
      publishers_owner: ["owner", "id"],
      publishers_project: ["project_id"],
      publishers_pending: ["pending"],
    },
    references: { project_id: projects },
  },
);
export type PublishersTable = RowOf<typeof publishers>;

/** Live keys of publishers, which end with them. */
export const publisherKeys = table(
  "publisher_keys",
  { key_id: name, publisher_id: name },
  {
    key: ["key_id"],
    indexes: { publisher_keys_publisher: ["publisher_id"] },
    references: { key_id: { table: apiKeys, cascades: true }, publisher_id: { table: publishers, cascades: true } },
    copied: false,
  },
);

/** Identity tokens that were exchanged, until they expire: each is taken once, whichever hub it is sent to. */
export const usedTokens = table(
  "used_tokens",
  {
    /** SHA-256 of the issuer and the token's id. */
    hash: sha256Hex,
    expires_at: time,
  },
  { key: ["hash"], indexes: { used_tokens_expiry: ["expires_at"] }, copied: false },
);

/** The rows of each table, as kysely reads and writes them. */
export type OwnTables = {
  publishers: PublishersTable;
  publisher_keys: RowOf<typeof publisherKeys>;
  used_tokens: RowOf<typeof usedTokens>;
};
