import type { HostFactIn } from "../contract/facts/host-shown.ts";
import type { LinePart } from "./line.tsx";
import { fit } from "./text.ts";

interface Column {
  title: string;
  /** Columns of the screen below and from {@link WIDE} on; undefined for a share of what the others leave. */
  size?: readonly [narrow: number, wide: number];
  /** Most columns of the screen that a share gets. */
  most?: number;
}

/** Lists of the dashboards, with their columns in display order. */
const LISTS = {
  targets: {
    target: { title: "TARGET", most: 48 },
    running: { title: "RUNNING", size: [11, 16] },
    latest: { title: "LATEST", size: [11, 16] },
    state: { title: "STATE" },
    next: { title: "NEXT CHECK", size: [10, 12] },
  },
  hosts: {
    host_id: { title: "HOST", size: [26, 40] },
    running_version: { title: "VERSION", size: [12, 20] },
    status: { title: "STATUS", size: [11, 11] },
    completed_at: { title: "REPORTED", size: [16, 16] },
    error_message: { title: "ERROR" },
  } satisfies Record<HostFactIn<"row">, Column>,
  history: {
    when: { title: "WHEN", size: [16, 16] },
    target: { title: "TARGET", size: [18, 30] },
    version: { title: "VERSION", size: [8, 12] },
    outcome: { title: "OUTCOME", size: [11, 11] },
    took: { title: "TOOK", size: [8, 8] },
    why: { title: "WHY" },
  },
} as const satisfies Record<string, Record<string, Column>>;

type List = keyof typeof LISTS;
type ColumnOf<L extends List> = keyof (typeof LISTS)[L] & string;

/** Visible column, with its width and position. */
export interface Placed<Id extends string = string> {
  id: Id;
  title: string;
  width: number;
}

const WIDE = 120;

/**
 * Returns the columns of a list with their widths on a line of `width` columns.
 *
 * @param longest columns of the screen that a column's texts need; what it does not need goes to the shares
 */
export function placed<L extends List>(
  list: L,
  width: number,
  longest: Partial<Record<ColumnOf<L>, number>> = {},
): Placed<ColumnOf<L>>[] {
  const shown = Object.entries<Column>(LISTS[list]).map(([id, column]): [string, Column] => {
    const need = longest[id as ColumnOf<L>];
    const { size, title } = column;
    if (need === undefined || size === undefined) return [id, column];
    const enough = (own: number): number => Math.min(own, Math.max(title.length, need));
    return [id, { ...column, size: [enough(size[0]), enough(size[1])] }];
  });
  const fixed = ({ size }: Column): number | undefined => size?.[width >= WIDE ? 1 : 0];
  // Two columns for the marker, and a space between cells.
  let left = width - 2 - (shown.length - 1);
  for (const [, column] of shown) left -= fixed(column) ?? 0;
  let shares = shown.filter(([, column]) => fixed(column) === undefined).length;
  return shown.map(([id, column]) => {
    const { title, most = left } = column;
    let own = fixed(column);
    if (own === undefined) {
      own = Math.max(0, Math.min(most, Math.floor(left / shares)));
      left -= own;
      shares--;
    }
    return { id: id as ColumnOf<L>, title, width: own };
  });
}

/** Returns the line of the titles. */
export const titlesOf = (columns: readonly Placed[]): LinePart => [
  `  ${columns.map(({ title, width }) => fit(title, width)).join(" ")}`,
  "quiet",
];

/** Returns a row's parts. @param cells text and look of each column, given its width */
export const rowOf = <Id extends string>(
  columns: readonly Placed<Id>[],
  marker: string,
  cells: Record<Id, (width: number) => LinePart>,
): LinePart[] => [
  [marker],
  ...columns.map(({ id, width }, index): LinePart => {
    const [text, look = "plain"] = cells[id](width);
    return [`${fit(text, width)}${index === columns.length - 1 ? "" : " "}`, look];
  }),
];
