import type { ReactNode } from "react";
import { choosable, type ColumnName, type List, LIST_TITLES } from "./columns.ts";
import { windowStart } from "./layout.ts";
import { Line, Title } from "./line.tsx";

/** Returns the columns of some lists that a person may hide, in the order of the screen. */
export const choosableIn = (lists: readonly List[]): ColumnName[] =>
  lists.flatMap((list) => choosable(list).map(({ name }) => name));

/** Shows the columns of lists with a mark at those that are shown. @param at the one that Space toggles */
export function ColumnsView(props: {
  lists: readonly List[];
  hidden: ReadonlySet<ColumnName>;
  at: number;
  width: number;
  height: number;
}): ReactNode {
  const { lists, hidden, at, width, height } = props;
  const rows = lists.flatMap((list) => [
    { name: undefined, title: LIST_TITLES[list] },
    ...choosable(list).map(({ name, title }) => ({ name, title })),
  ]);
  const chosen = choosableIn(lists)[at];
  const page = height - 1;
  const start = windowStart(
    rows.findIndex(({ name }) => name !== undefined && name === chosen),
    page,
    rows.length,
  );
  return (
    <>
      <Title text="Columns" width={width} strong />
      {rows
        .slice(start, start + page)
        .map(({ name, title }) =>
          name === undefined ? (
            <Line key={title} width={width} parts={[[`  ${title}`, "strong"]]} />
          ) : (
            <Line
              key={name}
              width={width}
              parts={[[`  ${name === chosen ? "›" : " "} [${hidden.has(name) ? " " : "✓"}] ${title}`]]}
              inverse={name === chosen}
            />
          ),
        )}
    </>
  );
}
