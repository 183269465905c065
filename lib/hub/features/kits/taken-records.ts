import { hash } from "node:crypto";
import type { Queries, Transacted } from "../../records/port.ts";
import type { IncomingReport, StoredReport } from "../../records/reports.ts";
import { selectWhere } from "../../records/rows.ts";
import { own } from "./tables.ts";

/** Reports that kits have brought. The log forgets reports, and a stick may be handed in again long after. */

/** Report as it is known: by the identity of its deployment in its view. */
type Taken = Pick<IncomingReport, "holder" | "target" | "deployment">;

const digestOf = ({ holder, target, deployment }: Taken): string =>
  hash("sha256", JSON.stringify([holder, target, deployment]));

/** Notes which of the reports kits have brought, in the transaction that stores them. */
export async function noteTaken(transaction: Transacted, reports: readonly StoredReport[]): Promise<void> {
  const rows = reports.flatMap(({ hostRecord: { by_kit: kit }, ...report }) =>
    kit === undefined ? [] : [{ report: digestOf(report), kit_id: kit.kit }],
  );
  if (rows.length === 0) return;
  await own(transaction)
    .insertInto("kit_reports")
    .values(rows)
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

/** Tells whether a kit that is kept has brought a report. */
export async function isTaken(db: Queries, taken: Taken): Promise<boolean> {
  const found = selectWhere(own(db), "kit_reports", { report: digestOf(taken) }).select("kit_id");
  return (await found.executeTakeFirst()) !== undefined;
}
