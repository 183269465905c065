import type { Labels } from "../../contract/labels.ts";
import type { FleetKey } from "./fleet.ts";
import { labelRows } from "./host-columns.ts";
import type { Queries, Transacted } from "./port.ts";
import { deleteWhere } from "./rows.ts";

/** Labels of a host before and after a change. */
interface LabelChange {
  hostId: string;
  from: Labels;
  to: Labels;
}

/** Makes the rows of a host's labels. @param labels as {@link labelRows} lists them */
export const rowsOf = ({ holder, target }: FleetKey, hostId: string, labels: readonly string[]) =>
  labels.map((label) => ({ holder, target, label, host_id: hostId }));

/** Renews the rows for finding hosts by label. Costs nothing where no label changes. */
export async function changeLabels(
  transaction: Transacted,
  view: FleetKey,
  changes: readonly LabelChange[],
): Promise<void> {
  const added: ReturnType<typeof rowsOf> = [];
  for (const { hostId, from, to } of changes) {
    const [before, after] = [new Set(labelRows(from)), new Set(labelRows(to))];
    const gone = [...before.difference(after)];
    const { holder, target } = view;
    if (gone.length > 0)
      await deleteWhere(transaction, "host_labels", { holder, target, host_id: hostId })
        .where("label", "in", gone)
        .execute();
    added.push(...rowsOf(view, hostId, [...after.difference(before)]));
  }
  await addLabels(transaction, added);
}

/** Rows per statement: as many as its parameters allow. */
const LABEL_BATCH = 1000;

export async function addLabels(db: Queries, rows: ReturnType<typeof rowsOf>): Promise<void> {
  for (let start = 0; start < rows.length; start += LABEL_BATCH)
    await db
      .insertInto("host_labels")
      .values(rows.slice(start, start + LABEL_BATCH))
      .onConflict((conflict) => conflict.columns(["holder", "target", "label", "host_id"]).doNothing())
      .execute();
}
