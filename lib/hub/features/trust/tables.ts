import { anchoredRoot, nextRoot, parseRoot, type TrustRoot } from "../../../artifact/trust/root.ts";
import { sha256Hex } from "../../../contract/identifiers.ts";
import { count, json, name, text, time } from "../../records/columns.ts";
import { type AnyRow, type RowOf, table } from "../../records/table.ts";

const NAME = "The document";

/** Returns what is wrong with a stored document, in the words of a check. */
function faultIn(check: () => string | undefined): string | undefined {
  try {
    return check();
  } catch (error) {
    return (error as Error).message;
  }
}

const documentIn = ({ document }: AnyRow): TrustRoot => parseRoot(String(document), NAME);

/** Compares a document with the columns that repeat what it says. */
const faultOf = (row: AnyRow): string | undefined =>
  faultIn(() => {
    const { id, version, digest, expires } = documentIn(row);
    const said = { root_id: id, version, digest, expires };
    const different = Object.entries(said).find(([column, value]) => row[column] !== value);
    return different && `${different[0]}: is another one than in the document`;
  });

/** Verifies a document as hosts do: version 1 by its own keys, and each other one by the version before it. */
const faultAfter = (row: AnyRow, before: AnyRow | undefined): string | undefined =>
  faultIn(() => {
    const isFirst = before === undefined || before["owner"] !== row["owner"] || before["root_id"] !== row["root_id"];
    if (isFirst && row["version"] !== 1) return "version 1 of the trust root is missing";
    if (isFirst) anchoredRoot(String(row["document"]), NAME);
    else nextRoot(documentIn(before), String(row["document"]), NAME);
    return undefined;
  });

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
  { key: ["owner", "root_id", "version"], since: "0011-trust-roots", faultOf, faultAfter },
);
export type TrustRootsTable = RowOf<typeof trustRoots>;

/** The rows of each table, as kysely reads and writes them. */
export type OwnTables = { trust_roots: TrustRootsTable };
