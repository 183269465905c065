import { sha256Hex } from "../../../contract/identifiers.ts";
import { count, json, name, text, time } from "../../records/columns.ts";
import { type RowOf, table } from "../../records/table.ts";

/** Versions of the owners' trust roots. Rows are added and never changed. */
export const trustRoots = table(
  "trust_roots",
  {
    owner: name,
    root_id: name,
    version: count,
    /** The document, as its holders have signed it. */
    document: json,
    /** SHA-256 of what its signatures are over. */
    digest: sha256Hex,
    /** Date on it, which stops nothing. */
    expires: text,
    published_at: time,
    /** Id of the key that published it. */
    published_by: name,
  },
  { key: ["owner", "root_id", "version"], since: "0011-trust-roots" },
);
export type TrustRootsTable = RowOf<typeof trustRoots>;

/** The rows of each table, as kysely reads and writes them. */
export type OwnTables = { trust_roots: TrustRootsTable };
