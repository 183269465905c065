import type { StatementRow } from "./port.ts";

/** Polling host, as the poll's statement reads it where the target has a gate. */
export interface PollingHost {
  record: string;
  /** Labels that an operator gave it, as JSON. */
  labels: string | null;
  seenAt: string | null;
  firstChange: number;
  isBound: boolean;
}

/** Columns of {@link PollingHost}, from `hosts h`. */
export const POLLING_HOST = `h.record AS host_record, h.labels AS host_labels, h.seen_at AS host_seen_at,
    h.first_change AS host_first_change, h.is_bound AS host_is_bound`;

/**
 * Returns SQL that joins the polling host to `projects p`, with one parameter: its id, or null. Without a gate the
 * index is searched for null, which no row has.
 *
 * @param holder SQL of the view's holder @param target SQL of the view's target
 */
export const joinPollingHost = (holder: string, target: string): string =>
  `LEFT JOIN hosts h ON h.holder = ${holder} AND h.target = ${target}
    AND h.host_id = CASE WHEN p.gate IS NULL THEN NULL ELSE CAST(? AS text) END`;

export const pollingHostOf = (row: StatementRow): PollingHost | undefined =>
  row["host_record"] === null
    ? undefined
    : {
        record: row["host_record"] as string,
        labels: row["host_labels"] as string | null,
        seenAt: row["host_seen_at"] as string | null,
        firstChange: Number(row["host_first_change"]),
        isBound: Number(row["host_is_bound"]) === 1,
      };
