import { type RawBuilder, sql } from "kysely";
import { hooksOf } from "./hooks.ts";
import type { Queries } from "./port.ts";
import { lowered, selectWhere } from "./rows.ts";

/** Names of hosts within a project: which are taken, by hosts that joined, that reported, or that only kits know. */

/** Host of a project by its name. */
export interface NamedHost {
  project_id: string;
  host_id: string;
}

/** Returns the condition for rows whose `host_id` is one of the names, in any case of A to Z. */
export const isCalledAnyOf = (names: readonly string[]): RawBuilder<boolean> =>
  sql<boolean>`lower(host_id) in (${sql.join(names.map(lowered))})`;

/** Returns the names by which the features keep hosts of a project, as far as they are given ones in any case. */
async function namesOfFeatures(db: Queries, projectId: string, names: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const hooks of hooksOf(db)) found.push(...((await hooks.hostsCalled?.(db, projectId, names)) ?? []));
  return found;
}

/** Tells whether some feature keeps something for a host of a project, even if it has never joined. */
export const isKnownHost = async (db: Queries, { project_id, host_id }: NamedHost): Promise<boolean> =>
  (await namesOfFeatures(db, project_id, [host_id])).includes(host_id);

/**
 * Finds a host of a project that has one of the names, or one that differs by the case of A to Z only: people would
 * take the two for one.
 *
 * @param except host that does not count; by default each of the names is its own
 */
export async function namesakeOf(
  db: Queries,
  project_id: string,
  names: readonly string[],
  except: readonly string[] = names,
): Promise<string | undefined> {
  const ofFleet = selectWhere(db, "hosts", { holder: "", target: project_id }).select("host_id");
  const reported = (await ofFleet.where(isCalledAnyOf(names)).execute()).map(({ host_id: name }) => name);
  const found = [...(await namesOfFeatures(db, project_id, names)), ...reported];
  return found.find((name) => !except.includes(name));
}
