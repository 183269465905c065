import * as z from "zod";
import { readTerms } from "../../../artifact/sealed/terms.ts";
import { sha256Hex } from "../../../contract/identifiers.ts";
import { count, json, name, projectId, text, time, yes } from "../../records/columns.ts";
import { projects } from "../../records/core-tables.ts";
import type { Queries } from "../../records/port.ts";
import { type AnyRow, type RowOf, table } from "../../records/table.ts";

/** Compares the terms of an invite with the columns that repeat what they say. */
function termsFault({ terms, terms_digest: digest, project_id }: AnyRow): string | undefined {
  if (terms === null && digest === null) return undefined;
  try {
    const read = readTerms(String(terms));
    if (read.digest !== digest) return "terms_digest: is another one than that of the terms";
    return read.signed.project === project_id ? undefined : "terms: are of another project";
  } catch (error) {
    return `terms: ${(error as Error).message}`;
  }
}

/** Invites for hosts of a project. */
export const hostInvites = table(
  "host_invites",
  {
    id: name,
    project_id: projectId,
    /** Owner of the keys of its hosts. */
    owner: name,
    /** SHA-256 of the token, hexadecimal. The token itself is nowhere. */
    hash: sha256Hex,
    /** Most hosts that may join; `used` counts those that have. */
    uses: count,
    used: count,
    needs_approval: yes,
    /** Labels as JSON; `signers` is a JSON list of public keys, hexadecimal. */
    labels: json,
    signers: json,
    expires_at: time,
    /** Expiry of its hosts' keys, that of the key that made it; null for none. */
    keys_end_at: time.nullable(),
    revoked_at: time.nullable(),
    created_at: time,
    /** Id of the key that made it. */
    created_by: name,
    /** JSON list of the ends that keys of its hosts inherit; empty, or null in 0.1.0, where each stands for itself. */
    ends: json.nullable(),
    /** Whether keys of its hosts have the scope `read`. */
    may_read: yes,
    /** Trust root for its hosts to pin, as its holders have signed it; null for signers. */
    root: json.nullable(),
    /** Terms that the operator has signed, and SHA-256 of what the signature is over; null for none. */
    terms: json.nullable(),
    terms_digest: sha256Hex.nullable(),
  },
  {
    unique: { host_invites_hash_key: ["hash"] },
    indexes: { host_invites_project: ["project_id", "id"], host_invites_expiry: ["expires_at"] },
    references: { project_id: projects },
    defaults: { may_read: 0 },
    added: {
      "0005-hosts-that-read": { columns: ["may_read"], indexes: {} },
      "0006-ends": { columns: ["ends"], indexes: {} },
      "0011-trust-roots": { columns: ["root"], indexes: {} },
      "0013-settings": { columns: ["terms", "terms_digest"], indexes: {} },
    },
    faultOf: termsFault,
  },
);
export type HostInvitesTable = RowOf<typeof hostInvites>;

/** Hosts of a project that have keys of their own, or wait for approval. */
export const joinedHosts = table(
  "joined_hosts",
  {
    project_id: projectId,
    host_id: name,
    /** Invite that it joined with; null for a host whose key was made by hand. */
    invite_id: name.nullable(),
    /** SHA-256 of the key that it joins with, by which a repeated join is known. */
    key_hash: sha256Hex.nullable(),
    state: z.enum(["pending", "approved", "joined"]),
    /** Address that it joined from. */
    address: text,
    created_at: time,
    /** JSON list of the watches that have spoken for it, most recent first. */
    machines: json,
  },
  {
    key: ["project_id", "host_id"],
    unique: { joined_hosts_key_hash_key: ["key_hash"] },
    indexes: { joined_hosts_state: ["project_id", "state", "host_id"] },
    references: { project_id: projects },
  },
);
export type JoinedHostsTable = RowOf<typeof joinedHosts>;

/** The rows of each table, as kysely reads and writes them. */
export type OwnTables = { host_invites: HostInvitesTable; joined_hosts: JoinedHostsTable };

/** The database with the tables of this feature. */
export const own = (db: Queries) => db.withTables<OwnTables>();
