import type * as z from "zod";
import type { PreparedStatements, Value } from "./port.ts";

/** Prepared statement, with the type of the rows that it reads. */
export interface Reading<Row extends object> {
  text: string;
  /** Never set: carries the type of the rows. */
  row?: Row;
}

/** Makes a statement that reads columns of a table. @param rest what follows the table's name: `WHERE … ORDER BY …` */
export const reading = <Row extends object, Column extends keyof Row & string>(
  { name }: { name: string; rows: z.ZodType<Row> },
  columns: readonly Column[],
  rest: string,
): Reading<Pick<Row, Column>> => ({ text: `SELECT ${columns.join(", ")} FROM ${name} ${rest}` });

/** Reads the rows of a statement. Their columns have the table's rules, by which every row is written. */
export async function rowsOf<Row extends object>(
  statements: PreparedStatements,
  { text }: Reading<Row>,
  parameters: readonly Value[],
): Promise<Row[]> {
  return (await statements.all(text, parameters)) as Row[];
}

/** Reads the first row of a statement, if there is one. */
export async function firstRow<Row extends object>(
  statements: PreparedStatements,
  { text }: Reading<Row>,
  parameters: readonly Value[],
): Promise<Row | undefined> {
  return (await statements.first(text, parameters)) as Row | undefined;
}
