import * as z from "zod";
import { yes } from "./columns.ts";
import type { Dialect } from "./port.ts";
import type { AnyTable } from "./table.ts";

/** Column types. Keyset pages and lists of host ids need bytewise order: PostgreSQL's default is the locale's. */
const TEXT: Record<Dialect, string> = { sqlite: "text", postgres: 'text collate "C"' };

function typeOf(rule: z.ZodType, dialect: Dialect): string {
  if (rule === yes) return "integer";
  if (rule instanceof z.ZodNumber) return "bigint";
  if (rule instanceof z.ZodEnum || rule instanceof z.ZodString || rule instanceof z.ZodStringFormat)
    return TEXT[dialect];
  throw new TypeError("A column holds text or an integer.");
}

const literal = (value: string | number): string =>
  typeof value === "number" ? String(value) : `'${value.replaceAll("'", "''")}'`;

function columnOf({ rows, defaults, references }: AnyTable, name: string, dialect: Dialect): string {
  const rule = rows.shape[name]!;
  const isNullable = rule instanceof z.ZodNullable;
  const value = defaults[name];
  const reference = references[name];
  return [
    name,
    typeOf(isNullable ? (rule.unwrap() as z.ZodType) : rule, dialect),
    ...(isNullable ? [] : ["not null"]),
    ...(value === undefined || value === null ? [] : [`default ${literal(value)}`]),
    ...(reference === undefined ? [] : [`references ${reference.table.name} (id)`]),
    ...(reference?.cascades === true ? ["on delete cascade"] : []),
  ].join(" ");
}

const indexesOf = ({ name }: AnyTable, indexes: AnyTable["indexes"]): string[] =>
  Object.entries(indexes).map(([index, columns]) => `create index ${index} on ${name} (${columns.join(", ")})`);

function createOf(table: AnyTable, dialect: Dialect): string[] {
  const { name, rows, key, unique, indexes, added } = table;
  const later = new Set(Object.values(added).flatMap(({ columns }) => columns));
  const columns = Object.keys(rows.shape).filter((column) => !later.has(column));
  const constraints = [
    `constraint ${name}_${key.length === 1 ? "pkey" : "key"} primary key (${key.join(", ")})`,
    ...Object.entries(unique).map(([constraint, each]) => `constraint ${constraint} unique (${each.join(", ")})`),
  ];
  const parts = [...columns.map((column) => columnOf(table, column, dialect)), ...constraints];
  return [`create table ${name} (${parts.join(", ")})`, ...indexesOf(table, indexes)];
}

/** Returns the statements with which a migration makes a table, or adds to it. */
export function statementsFor(table: AnyTable, migration: string, dialect: Dialect): string[] {
  if (table.since === migration) return createOf(table, dialect);
  const addition = table.added[migration];
  if (addition === undefined) return [];
  const columns = addition.columns.map(
    (column) => `alter table ${table.name} add column ${columnOf(table, column, dialect)}`,
  );
  return [...columns, ...indexesOf(table, addition.indexes)];
}
