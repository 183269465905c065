import { samePersonForm } from "../../contract/person-names.ts";
import type { ApiKeysTable } from "./core-tables.ts";
import type { Queries } from "./port.ts";
import { selectWhere } from "./rows.ts";

/**
 * Ends of an API key: the people, workflow runs and keys that stand behind it (docs/contract/staging.md#the-approver).
 * They are stored where they count, so that a deleted key takes nothing with it.
 */
export type Ends = readonly string[];

/** Columns of a key that tell its ends. */
type EndColumns = Pick<ApiKeysTable, "id" | "ends" | "acts_for" | "trusted_by">;

export const personEnd = (name: string): string => `person:${name}`;
export const runEnd = (name: string): string => `run:${name}`;
export const isRunEnd = (end: string): boolean => end.startsWith(runEnd(""));
const keyEnd = (id: string): string => `key:${id}`;

/** Returns ends as they are stored. */
export const storedEnds = (ends: Ends): string => JSON.stringify(ends);

export const parsedEnds = (stored: string): Ends => JSON.parse(stored) as Ends;

/** Returns the ends of a new key: those that it inherits, or else itself. */
export const endsOfNew = (id: string, inherited: Ends): Ends => (inherited.length > 0 ? inherited : [keyEnd(id)]);

/** Returns the ends of a key. One of 0.1.0 has its actor, and whoever has trusted its workflow. */
export function endsOfKey({ id, ends, acts_for: actor, trusted_by: truster }: EndColumns): Ends {
  if (ends !== null) return parsedEnds(ends);
  return [actor ?? keyEnd(id), ...(truster === null ? [] : [truster])];
}

/**
 * Reads the ends that a row has stored, or those of the key that made it, where 0.1.0 has stored none.
 *
 * @param id of that key, which may have been deleted since
 */
export async function endsOfMade(db: Queries, stored: string | null, id: string | null): Promise<Ends> {
  if (stored !== null) return parsedEnds(stored);
  const key = await selectWhere(db, "api_keys", { id: id ?? "" })
    .select(["id", "ends", "acts_for", "trusted_by"])
    .executeTakeFirst();
  return key === undefined ? [keyEnd(id ?? "")] : endsOfKey(key);
}

/**
 * Returns an end that two have in common; undefined for none. Names that people take for the same are the same person:
 * in doubt nobody approves.
 */
export function commonEnd(one: Ends, other: Ends): string | undefined {
  const others = new Set(other.map(compared));
  return one.find((end) => others.has(compared(end)));
}

const PERSON = personEnd("");
const compared = (end: string): string =>
  end.startsWith(PERSON) ? personEnd(samePersonForm(end.slice(PERSON.length))) : end;
