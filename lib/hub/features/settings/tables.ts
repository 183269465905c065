import { readCard } from "../../../artifact/sealed/card.ts";
import { parseOutcome } from "../../../artifact/sealed/settings.ts";
import { readTerms } from "../../../artifact/sealed/terms.ts";
import { sha256Hex } from "../../../contract/identifiers.ts";
import { base64, count, json, name, projectId, time } from "../../records/columns.ts";
import { projects } from "../../records/core-tables.ts";
import type { Queries } from "../../records/port.ts";
import { type AnyRow, type RowOf, table } from "../../records/table.ts";

/** Returns what is wrong with a stored text, in the words of a check. */
function faultIn(check: () => string | undefined): string | undefined {
  try {
    return check();
  } catch (error) {
    return (error as Error).message;
  }
}

const OF_UPLOAD = ["number", "sealed_to", "sealed", "uploaded_at", "uploaded_by"];
const OF_OUTCOME = ["outcome", "outcome_at"];

/** Compares a host's texts with the columns beside them. */
const settingsFault = (row: AnyRow): string | undefined =>
  faultIn(() => {
    for (const columns of [OF_UPLOAD, OF_OUTCOME])
      if (new Set(columns.map((column) => row[column] === null)).size > 1)
        return `${columns[0]}: stands without ${columns.slice(1).join(", ")}, or they without it`;
    const { card, terms_digest: digest, outcome, project_id: project } = row;
    if (outcome !== null && parseOutcome(String(outcome)).signed.project !== project)
      return "outcome: is of another project";
    if (card === null) return digest === null ? undefined : "terms_digest: stands without a card";
    const { signed } = readCard(String(card));
    if (signed.project !== project) return "card: is of another project";
    return signed.terms === digest ? undefined : "terms_digest: is another one than in the card";
  });

/** Compares terms with the digest beside them. */
const termsFault = ({ terms, digest, project_id: project }: AnyRow): string | undefined =>
  faultIn(() => {
    const read = readTerms(String(terms));
    if (read.digest !== digest) return "digest: is another one than that of the terms";
    return read.signed.project === project ? undefined : "terms: are of another project";
  });

/** Cards of hosts, settings that are sealed to them, and what they say of them. The hub can read no settings. */
export const hostSettings = table(
  "host_settings",
  {
    project_id: projectId,
    host_id: name,
    /** Card of the host, as it has signed it; null before it has sent one. */
    card: json.nullable(),
    /** Digest of the terms that the card names; null for none. */
    terms_digest: sha256Hex.nullable(),
    /** Number of the newest document, fingerprint of the key that it is sealed to, and its bytes. */
    number: count.nullable(),
    sealed_to: sha256Hex.nullable(),
    sealed: base64.nullable(),
    uploaded_at: time.nullable(),
    /** Id of the key that uploaded it. */
    uploaded_by: name.nullable(),
    /** Outcome of some document, as the host has signed it; null before the first. */
    outcome: json.nullable(),
    outcome_at: time.nullable(),
  },
  {
    key: ["project_id", "host_id"],
    references: { project_id: projects },
    since: "0013-settings",
    faultOf: settingsFault,
  },
);
export type HostSettingsTable = RowOf<typeof hostSettings>;

/** Terms that cards name, each once for a project: they may name a thousand hosts. */
export const hostTerms = table(
  "host_terms",
  { project_id: projectId, digest: sha256Hex, terms: json },
  { key: ["project_id", "digest"], references: { project_id: projects }, since: "0013-settings", faultOf: termsFault },
);
type HostTermsTable = RowOf<typeof hostTerms>;

/** The rows of each table, as kysely reads and writes them. */
export type OwnTables = { host_settings: HostSettingsTable; host_terms: HostTermsTable };

/** The database with the tables of this feature. */
export const own = (db: Queries) => db.withTables<OwnTables>();
