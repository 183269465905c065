import * as z from "zod";

/** Rules of columns by name: text or integer, nullable or not. */
export type ColumnRules = Readonly<Record<string, z.ZodType<string | number | null>>>;

type Names<Shape> = readonly (keyof Shape & string)[];
type Indexes<Shape> = Readonly<Record<string, Names<Shape>>>;

/** Row as copies and checks see it. */
export type AnyRow = Readonly<Record<string, string | number | null>>;

/** Column that holds the `id` of a row of another table. */
interface Reference {
  table: AnyTable;
  /** Whether the row is deleted together with the one that it names. */
  cascades?: boolean;
}

/** Columns and indexes that one migration adds to a table of an earlier one. */
interface Addition<Shape> {
  columns: Names<Shape>;
  indexes: Indexes<Shape>;
}

interface TableOptions<Shape extends ColumnRules> {
  /** Columns of the primary key. Default: `id`. */
  key?: Names<Shape>;
  /** Unique constraints by name. */
  unique?: Indexes<Shape>;
  /** Indexes by name, in order of creation, by which SQLite chooses between equally good ones. */
  indexes?: Indexes<Shape>;
  references?: { readonly [Column in keyof Shape]?: AnyTable | Reference };
  /** Further columns that name a row of another table; without that row, copies leave this one out. */
  needs?: { readonly [Column in keyof Shape]?: string };
  /** Values of columns that statements may leave out. */
  defaults?: { readonly [Column in keyof Shape]?: z.output<Shape[Column]> };
  /** False for tables that backups and moves skip. */
  copied?: boolean;
  /** Column with the SHA-256 of the blob that has the row's id and `size_bytes` bytes. */
  digest?: keyof Shape & string;
  /** Returns a fault of a row that its columns alone do not show. */
  faultOf?: (row: AnyRow) => string | undefined;
  /** Returns a fault of a row that the row before it, by their key, shows. Only `hub verify` asks. */
  faultAfter?: (row: AnyRow, before: AnyRow | undefined) => string | undefined;
  /** Migration that creates the table. Default: the first one. */
  since?: string;
  /** Later additions by the name of their migration. */
  added?: Readonly<Record<string, Addition<Shape>>>;
}

/** Table: rules for its rows, and what migrations and copies need to know. */
export interface Table<Name extends string, Shape extends ColumnRules>
  extends
    Required<Omit<TableOptions<Shape>, "references" | "needs" | "digest" | "faultOf" | "faultAfter">>,
    Pick<TableOptions<Shape>, "faultOf" | "faultAfter"> {
  name: Name;
  /** Rules for rows of a backup or of another database. */
  rows: z.ZodObject<Shape, z.core.$strict>;
  references: Readonly<Record<string, Required<Reference>>>;
  needs: Readonly<Record<string, string>>;
  digest: string | undefined;
}

/** Table of which only the shape is known. */
export interface AnyTable {
  readonly name: string;
  readonly rows: z.ZodObject<ColumnRules, z.core.$strict>;
  readonly key: readonly string[];
  readonly unique: Indexes<ColumnRules>;
  readonly indexes: Indexes<ColumnRules>;
  readonly references: Readonly<Record<string, Required<Reference>>>;
  readonly needs: Readonly<Record<string, string>>;
  readonly defaults: Readonly<Record<string, string | number | null | undefined>>;
  readonly copied: boolean;
  readonly digest: string | undefined;
  readonly faultOf?: (row: AnyRow) => string | undefined;
  readonly faultAfter?: (row: AnyRow, before: AnyRow | undefined) => string | undefined;
  readonly since: string;
  readonly added: Readonly<Record<string, Addition<ColumnRules>>>;
}

/** Row as kysely reads and writes it. */
export type RowOf<T extends { rows: z.ZodType }> = z.output<T["rows"]>;

export const FIRST_MIGRATION = "0001-first";

/**
 * Declares a table once. Its columns define the rules for rows of a backup and the types of queries; migrations,
 * backups and moves are generated from it. A column added after a release is also named in `added`.
 */
export function table<Name extends string, Shape extends ColumnRules>(
  name: Name,
  columns: Shape,
  { references = {}, needs = {}, digest, ...options }: TableOptions<Shape> = {},
): Table<Name, Shape> {
  const named = Object.entries(references as Record<string, AnyTable | Reference>).map(([column, to]) => {
    return [column, { cascades: false, ...("table" in to ? to : { table: to }) }] as const;
  });
  return {
    ...{ key: ["id"], unique: {}, indexes: {}, defaults: {}, copied: true, since: FIRST_MIGRATION, added: {} },
    ...options,
    ...{ name, digest, rows: z.strictObject(columns), references: Object.fromEntries(named) },
    needs: needs as Record<string, string>,
  };
}
