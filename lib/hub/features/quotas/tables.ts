import { count, name } from "../../records/columns.ts";
import { type RowOf, table } from "../../records/table.ts";

/** Storage limits of owners and projects. */
export const quotas = table(
  "quotas",
  {
    /** `owner/NAME` or `project/ID`. */
    subject: name,
    max_bytes: count.nullable(),
    max_versions: count.nullable(),
  },
  { key: ["subject"] },
);
export type QuotasTable = RowOf<typeof quotas>;
