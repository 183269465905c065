import type { ReactNode } from "react";
import { factsIn, type ListFact, type ListFacts } from "../../contract/facts/list-facts.ts";
import { type Column, type Row, Time } from "./parts.tsx";

interface Page<T, Name extends string> {
  /** Returns the key of a row. */
  keyOf: (record: T) => string;
  /** Makes the cells that say more than the text of a fact, such as links. */
  formed: Partial<Record<Name, (record: T) => ReactNode>>;
  /** Makes the forms at the end of a row. */
  acts?: (record: T) => ReactNode;
}

/** Returns the columns and rows of a list, made from its facts. */
export function factRows<T, Name extends string>(
  facts: ListFacts<T, Name>,
  records: readonly T[],
  { keyOf, formed, acts }: Page<T, Name>,
): { columns: Column[]; rows: Row[] } {
  const shown = factsIn(facts, "page");
  const columns = shown.map(([, { title, column }]): Column => (column === undefined ? title : [title, column]));
  const rows = records.map((record): Row => {
    const [name, ...cells] = shown.map(([fact, of]) => formed[fact]?.(record) ?? plain(of, record));
    return [keyOf(record), name, ...cells, ...(acts === undefined ? [] : [acts(record)])];
  });
  return { columns: acts === undefined ? columns : [...columns, ["", "acts"]], rows };
}

const plain = <T,>(fact: ListFact<T>, record: T): ReactNode =>
  "text" in fact ? fact.text(record) : <Time at={fact.at(record)} none={fact.none} />;
