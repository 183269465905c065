import { sql } from "kysely";
import type { HostSettings } from "../../../contract/settings/records.ts";
import type { PageRange, Queries } from "../../records/port.ts";
import { selectWhere } from "../../records/rows.ts";
import { type HostSettingsTable, own } from "./tables.ts";

/** Host in a list, with the length of its terms, which are read last. */
interface ListedHost extends Omit<HostSettingsTable, "project_id" | "sealed"> {
  terms_length: number | null;
  out_of_service: string | null;
}

/** Most characters of the texts in a page, unless one host has more. */
const PAGE_CHARACTERS = 4 * 1024 * 1024;

const lengthOf = ({ card, outcome, terms_length: terms }: ListedHost): number =>
  (card?.length ?? 0) + (outcome?.length ?? 0) + Number(terms ?? 0);

/** Returns the hosts, from the first one on, whose texts fit into a page: one at least. */
function fitting(rows: readonly ListedHost[]): ListedHost[] {
  let characters = 0;
  return rows.filter((row, index) => (characters += lengthOf(row)) <= PAGE_CHARACTERS || index === 0);
}

/** Hosts of a project to list. */
export interface AskedHosts {
  projectId: string;
  /** Only host; undefined for all. */
  only: string | undefined;
  /** Current time, ISO 8601. */
  now: string;
}

/** Lists the hosts of a project that have keys of their own, and those that the hub has settings or a card of. */
export async function listHostSettings(
  db: Queries,
  asked: AskedHosts,
  range: PageRange,
): Promise<{ items: HostSettings[]; next: string | null }> {
  const { projectId } = asked;
  const rows = await readHosts(db, asked, { ...range, limit: range.limit + 1 });
  const shown = fitting(rows.slice(0, range.limit));
  const digests = new Set(shown.flatMap(({ terms_digest: digest }) => digest ?? []));
  const terms = new Map<string, string>();
  if (digests.size > 0) {
    const texts = selectWhere(own(db), "host_terms", { project_id: projectId }).where("digest", "in", [...digests]);
    for (const row of await texts.select(["digest", "terms"]).execute()) terms.set(row.digest, row.terms);
  }
  const items = shown.map(({ terms_digest, terms_length: _, sealed_to, out_of_service: reason, ...row }) => ({
    ...{ ...row, ...(reason !== null && { out_of_service: reason }) },
    to: sealed_to,
    terms: terms_digest === null ? null : (terms.get(terms_digest) ?? null),
  }));
  return { items, next: shown.length < rows.length ? items.at(-1)!.host_id : null };
}

/** Reads hosts in the order of their names, each with the length of its terms. */
const readHosts = (
  db: Queries,
  { projectId, only, now }: AskedHosts,
  { after, limit }: PageRange,
): Promise<ListedHost[]> =>
  own(db)
    .selectFrom((eb) =>
      eb
        .selectFrom("api_keys as k")
        .select(sql<string>`k.host`.as("host_id"))
        .where("k.project_id", "=", projectId)
        .where("k.host", "is not", null)
        .where("k.revoked_at", "is", null)
        .where((or) => or.or([or("k.expires_at", "is", null), or("k.expires_at", ">", now)]))
        .union(eb.selectFrom("host_settings as o").select("o.host_id").where("o.project_id", "=", projectId))
        .as("n"),
    )
    .leftJoin("host_settings as s", (join) =>
      join.onRef("s.host_id", "=", "n.host_id").on("s.project_id", "=", projectId),
    )
    .leftJoin("host_terms as t", (join) =>
      join.onRef("t.digest", "=", "s.terms_digest").on("t.project_id", "=", projectId),
    )
    .leftJoin("hosts as h", (join) =>
      join.onRef("h.host_id", "=", "n.host_id").on("h.holder", "=", "").on("h.target", "=", projectId),
    )
    .select([
      "n.host_id",
      "h.out_of_service",
      "s.card",
      "s.terms_digest",
      "s.number",
      "s.sealed_to",
      "s.uploaded_at",
      "s.uploaded_by",
    ])
    .select(["s.outcome", "s.outcome_at", sql<number | null>`length(t.terms)`.as("terms_length")])
    .where("n.host_id", ">", after)
    .$if(only !== undefined, (query) => query.where("n.host_id", "=", only!))
    .orderBy("n.host_id")
    .limit(limit)
    .execute();
