import type { RootRecord } from "../../../contract/trust/routes.ts";
import type { KeyView } from "../../records/keys.ts";
import type { PageRange, Queries, Transacted } from "../../records/port.ts";
import { selectWhere, updateWhere } from "../../records/rows.ts";
import type { OwnTables, TrustRootsTable } from "./tables.ts";

/** The database with the tables of this feature. */
const own = (db: Queries) => db.withTables<OwnTables>();

/** Name of a root at the hub. Two owners may have roots of one id, which have nothing to do with each other. */
export type RootName = Pick<TrustRootsTable, "owner" | "root_id">;

/** Finds a version of a root. */
export const findRoot = (db: Queries, root: RootName & { version: number }): Promise<TrustRootsTable | undefined> =>
  selectWhere(own(db), "trust_roots", root).selectAll().executeTakeFirst();

/** Finds the newest version of a root. */
export const newestRoot = (db: Queries, root: RootName): Promise<TrustRootsTable | undefined> =>
  selectWhere(own(db), "trust_roots", root).selectAll().orderBy("version", "desc").limit(1).executeTakeFirst();

/** Adds a version of a root. The caller has the owner's turn. */
export async function insertRoot(transaction: Transacted, row: TrustRootsTable): Promise<void> {
  await own(transaction).insertInto("trust_roots").values(row).execute();
}

/** Lists the ids of the projects, plugins and services that follow a root, sorted. */
export async function followersOf(db: Queries, root: RootName): Promise<string[]> {
  const rows = await selectWhere(db, "projects", root).select("id").orderBy("id").execute();
  return rows.map(({ id }) => id);
}

/** Finds the version of the root that a project, plugin or service follows. */
export const findFollowed = (
  db: Queries,
  projectId: string,
  version: number,
): Promise<Pick<TrustRootsTable, "document"> | undefined> =>
  own(db)
    .selectFrom("projects as p")
    .innerJoin("trust_roots as r", (join) =>
      join.onRef("r.owner", "=", "p.owner").onRef("r.root_id", "=", "p.root_id").on("r.version", "=", version),
    )
    .select("r.document")
    .where("p.id", "=", projectId)
    .executeTakeFirst();

/** Lets a project, plugin or service follow a version of a root. Its row is locked. */
export async function setRoot(
  transaction: Transacted,
  id: string,
  root: { root_id: string; root_version: number },
): Promise<void> {
  await updateWhere(transaction, "projects", { id }).set(root).execute();
}

/** Lets a project, plugin or service follow no root. Its row is locked. */
export async function clearRoot(transaction: Transacted, id: string): Promise<void> {
  await updateWhere(transaction, "projects", { id }).set({ root_id: null, root_version: null }).execute();
}

/** Newest version of a root, with its place in a list. */
export interface ListedRoot {
  place: string;
  record: RootRecord;
}

/** Lists the roots that a key sees by their ids, each with its newest version. */
export async function listRoots(db: Queries, view: KeyView, { after, limit }: PageRange): Promise<ListedRoot[]> {
  const [afterId = "", afterOwner = ""] = split(after);
  const rows = await visible(db, view)
    .where((eb) => eb(eb.refTuple("r.root_id", "r.owner"), ">", eb.tuple(afterId, afterOwner)))
    .orderBy("r.root_id")
    .orderBy("r.owner")
    .limit(limit)
    .execute();
  return recordsOf(db, view, rows);
}

/** Finds the roots of an id that a key sees: one, or for an administrator one for each owner. */
export const findRoots = async (db: Queries, view: KeyView, rootId: string): Promise<RootRecord[]> =>
  (await recordsOf(db, view, await visible(db, view).where("r.root_id", "=", rootId).execute())).map(
    ({ record }) => record,
  );

/** Splits a place in a list: an owner may have spaces, an id has none. */
const split = (place: string): string[] => place.split(/ (.*)/s);

/** Starts a query for the newest versions of roots `r` that a key sees: its owner's, or that of the key's target. */
const visible = (db: Queries, { owner, projectId }: KeyView) =>
  own(db)
    .selectFrom("trust_roots as r")
    .selectAll("r")
    .where((eb) => {
      const newer = eb
        .selectFrom("trust_roots as n")
        .select("n.version")
        .whereRef("n.owner", "=", "r.owner")
        .whereRef("n.root_id", "=", "r.root_id")
        .whereRef("n.version", ">", "r.version");
      return eb.not(eb.exists(newer));
    })
    .$if(owner !== undefined, (query) => query.where("r.owner", "=", owner!))
    .$if(projectId !== null, (query) =>
      query.where((eb) =>
        eb.exists(
          eb
            .selectFrom("projects as p")
            .select("p.id")
            .where("p.id", "=", projectId!)
            .whereRef("p.owner", "=", "r.owner")
            .whereRef("p.root_id", "=", "r.root_id"),
        ),
      ),
    );

async function recordsOf(db: Queries, view: KeyView, rows: readonly TrustRootsTable[]): Promise<ListedRoot[]> {
  if (rows.length === 0) return [];
  const { projectId } = view;
  const followers = await db
    .selectFrom("projects")
    .select(["id", "owner", "root_id"])
    .where("owner", "in", [...new Set(rows.map(({ owner }) => owner))])
    .where("root_id", "is not", null)
    .$if(projectId !== null, (query) => query.where("id", "=", projectId!))
    .orderBy("id")
    .execute();
  return rows.map((row) => ({
    place: `${row.root_id} ${row.owner}`,
    record: {
      ...{ id: row.root_id, owner: row.owner, version: row.version, digest: row.digest, expires: row.expires },
      ...{ published_at: row.published_at, published_by: row.published_by },
      targets: followers
        .filter(({ owner, root_id: id }) => owner === row.owner && id === row.root_id)
        .map(({ id }) => id),
    },
  }));
}
