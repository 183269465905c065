/**
 * Facts of the records of a list, by names, in the order of their columns: a command's table and the page of the list
 * are both made from them. Apart from the schemas, so that `--help` loads none.
 */
export type ListFacts<T, Name extends string = string> = Readonly<Record<Name, ListFact<T>>>;

/** Fact of a record in a list: its text, or its time, which each place writes in its own way. */
export type ListFact<T> = FactColumn &
  ({ text: (record: T) => string } | { at: (record: T) => string | null | undefined; none: string });

interface FactColumn {
  /** Title of its column; a terminal shows it in capital letters. */
  title: string;
  /** Only place where it has a column of its own. Default: both. */
  only?: "command" | "page";
  /** Class of its column on pages. */
  column?: "num" | "why";
}

/** Returns the facts that have a column of their own in a place, with their names. */
export const factsIn = <T, Name extends string>(facts: ListFacts<T, Name>, place: "command" | "page") =>
  (Object.entries(facts) as [Name, ListFact<T>][]).filter(([, { only = place }]) => only === place);
