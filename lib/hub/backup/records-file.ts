import { createHash } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { pipeline as streams } from "node:stream";
import { pipeline } from "node:stream/promises";
import { crc32, createGunzip, createGzip } from "node:zlib";
import parser from "stream-json/jsonl/parser.js";
import * as z from "zod";
import { boundLines } from "../../support/lines.ts";
import type { CopiedRow, CopiedTables } from "../records/copy.ts";
import type { Omissions } from "./omissions.ts";

/** Longest line, in bytes: a report may name 10,000 plugins. */
const MAX_LINE_BYTES = 64 * 1024 * 1024;
/** Characters of lines that are compressed together. */
const BATCH_CHARACTERS = 64 * 1024;

/** Facts about its records in the manifest of a backup. */
export interface RecordsFacts {
  /** SHA-256 of the file, hexadecimal. */
  sha256: string;
  /** Number of records by table. */
  counts: Record<string, number>;
}

/** Schema of a line: table, row, and a CRC-32 of both, which locates a record that the disk has damaged. */
const lineOf = ({ names }: CopiedTables) => z.tuple([z.enum(names), z.record(z.string(), z.json()), z.number()]);
const checkOf = (table: string, row: unknown): number => crc32(JSON.stringify([table, row]));

class LineTally {
  readonly #hash = createHash("sha256");
  readonly #counts: Record<string, number> = {};

  /** Counts and hashes the bytes of the file as they pass. */
  readonly tap = async function* (this: LineTally, chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void> {
    for await (const chunk of chunks) {
      this.#hash.update(chunk);
      yield chunk;
    }
  }.bind(this);

  add(table: string): void {
    this.#counts[table] = (this.#counts[table] ?? 0) + 1;
  }

  end(): RecordsFacts {
    return { sha256: this.#hash.digest("hex"), counts: this.#counts };
  }
}

async function* linesOf(rows: AsyncIterable<CopiedRow>, facts: LineTally): AsyncGenerator<string> {
  let lines = "";
  for await (const { table, row } of rows) {
    facts.add(table);
    lines += `${JSON.stringify([table, row, checkOf(table, row)])}\n`;
    if (lines.length < BATCH_CHARACTERS) continue;
    yield lines;
    lines = "";
  }
  yield lines;
}

/** Writes records to a file, one a line, compressed and on the disk when this resolves. */
export async function writeRecords(
  path: string,
  rows: AsyncIterable<CopiedRow>,
  signal?: AbortSignal,
): Promise<RecordsFacts> {
  const facts = new LineTally();
  const file = createWriteStream(path, { mode: 0o600, flush: true });
  await pipeline(linesOf(rows, facts), createGzip(), facts.tap, file, { signal });
  return facts.end();
}

class Unreadable {}

/**
 * Reads the records of a file. Reports damaged lines to `omissions`.
 *
 * @param options.onEnd called with the facts of the file as it was read
 * @throws ArtifactError `record_damaged`
 */
export async function* readRecords(
  path: string,
  omissions: Omissions,
  { onEnd }: { onEnd?: (facts: RecordsFacts) => void } = {},
): AsyncGenerator<CopiedRow, void> {
  const facts = new LineTally();
  const line = lineOf(omissions.tables);
  const items = streams(
    createReadStream(path),
    facts.tap,
    createGunzip(),
    boundLines(MAX_LINE_BYTES),
    parser.asStream({ errorIndicator: () => new Unreadable() }),
    () => {},
  ) as AsyncIterable<{ key: number; value: unknown }>;
  let last = "";
  const damaged = (fault: string): void =>
    omissions.damaged({ table: "records", id: last === "" ? "first" : `after ${last}` }, fault);
  try {
    for await (const { value } of items) {
      const parsed = line.safeParse(value);
      if (!parsed.success) {
        damaged("its line is not a record");
        continue;
      }
      const [table, fields, check] = parsed.data;
      const row = { table, row: fields as CopiedRow["row"] };
      const name = omissions.tables.nameOf(row);
      last = `${name.id} of ${table}`;
      facts.add(table);
      if (checkOf(table, fields) === check) yield row;
      else omissions.damaged(name, "its check sum is another");
    }
  } catch (error) {
    // Errors of the decompressor, and a line without an end.
    if (!/^(Z_|ERR_)/.test((error as NodeJS.ErrnoException).code ?? "") && !(error instanceof RangeError)) throw error;
    damaged(`the rest of the file cannot be read: ${(error as Error).message}`);
  }
  onEnd?.(facts.end());
}
