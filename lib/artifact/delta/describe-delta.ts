import { existsSync } from "node:fs";
import { join } from "node:path";
import {
  DELTA_FILE,
  type DeltaHeader,
  deltaInvalid,
  eachPiece,
  parseHeader,
  parseLine,
  readDeltaLines,
} from "./delta-lines.ts";

/** The changes that an unpacked delta asks for, for people to read. */
export interface DeltaFacts {
  base: DeltaHeader["base"];
  /** Files that it writes. */
  written: number;
  /** Paths of the base that it removes. */
  dropped: number;
  /** Bytes that the base does not have. */
  new_bytes: number;
}

/**
 * Reads the lines of an unpacked delta, whose signature and tag hold, without applying them.
 *
 * @returns undefined for a tree that holds no such lines: it is no delta
 * @throws ArtifactError `delta_invalid` for lines of another form
 */
export async function describeDelta(folder: string): Promise<DeltaFacts | undefined> {
  if (!existsSync(join(folder, DELTA_FILE))) return undefined;
  let facts: DeltaFacts | undefined;
  let number = 0;
  for await (const text of readDeltaLines(folder)) {
    if (++number === 1) facts = { base: parseHeader(text).base, written: 0, dropped: 0, new_bytes: 0 };
    else count(facts!, parseLine(text, number));
  }
  if (facts === undefined) throw deltaInvalid("it is empty");
  return facts;
}

function count(facts: DeltaFacts, line: ReturnType<typeof parseLine>): void {
  if ("drop" in line) facts.dropped++;
  if (!("put" in line)) return;
  facts.written++;
  const { size, member, pieces } = line;
  if (pieces !== undefined) for (const { length, isNew } of eachPiece(pieces)) facts.new_bytes += isNew ? length : 0;
  else if (member !== undefined) facts.new_bytes += size;
}
