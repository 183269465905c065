import type { Queries } from "./port.ts";
import { updateWhere } from "./rows.ts";
import type { SealedSecret } from "./secrets.ts";

/** Rows per page: few enough that a publisher does not notice the transaction. */
const PAGE_ROWS = 200;

/** DEK of an artifact or delta, or a secret of the hub, with the context that its sealing is bound to. */
export interface SealedRow extends SealedSecret {
  id: string;
  /** Project of the artifact, for a DEK. */
  projectId?: string;
}

/** Table of sealed secrets, as a rotation walks it: in key order, replacing each row only if it is unchanged. */
export interface SealedTable {
  page(db: Queries, after: string): Promise<SealedRow[]>;
  replace(transaction: Queries, old: SealedRow, sealed: SealedSecret): Promise<void>;
}

/** DEKs of artifacts and deltas. */
export const sealedDeks: SealedTable = {
  async page(db, after) {
    const rows = await db
      .selectFrom("sealed")
      .select(["id", "project_id", "kek_id", "sealed_dek"])
      .where("id", ">", after)
      .orderBy("id")
      .limit(PAGE_ROWS)
      .execute();
    return rows.map((row) => ({ id: row.id, projectId: row.project_id, kekId: row.kek_id, sealed: row.sealed_dek }));
  },
  async replace(db, old, { kekId, sealed }) {
    const changes = { kek_id: kekId, sealed_dek: sealed };
    await updateWhere(db, "sealed", { id: old.id, sealed_dek: old.sealed }).set(changes).execute();
  },
};

export const sealedSecrets: SealedTable = {
  async page(db, after) {
    const rows = await db
      .selectFrom("sealed_secrets")
      .select(["name", "kek_id", "sealed"])
      .where("name", ">", after)
      .orderBy("name")
      .limit(PAGE_ROWS)
      .execute();
    return rows.map(({ name, kek_id, sealed }) => ({ id: name, kekId: kek_id, sealed }));
  },
  async replace(db, old, { kekId, sealed }) {
    const changes = { kek_id: kekId, sealed };
    await updateWhere(db, "sealed_secrets", { name: old.id, sealed: old.sealed }).set(changes).execute();
  },
};

/** Replaces rows of one page in one transaction. @param reseal returns the new sealing of a row */
export function replaceSealed(
  db: Queries,
  table: SealedTable,
  rows: readonly SealedRow[],
  reseal: (row: SealedRow) => SealedSecret,
): Promise<void> {
  return db.transaction().execute(async (transaction) => {
    for (const row of rows) await table.replace(transaction, row, reseal(row));
  });
}
