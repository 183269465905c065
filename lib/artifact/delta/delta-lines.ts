import { join } from "node:path";
import * as z from "zod";
import { artifactError, type SealiftError } from "../../contract/errors.ts";
import { projectId, semverLabel, sha256Hex } from "../../contract/identifiers.ts";
import { missing } from "../../support/files.ts";
import { readLines } from "../tree/read-lines.ts";

/**
 * Members of a delta's tar beside `manifest.json`: what differs, and the new bytes, numbered from 1 in the order of the
 * lines.
 */
export const DELTA_FILE = "delta.ndjson";
export const memberPath = (number: number): string => `bytes/${number}`;

/** The first line of `delta.ndjson`: which tree becomes which. */
const header = z.strictObject({
  v: z.literal(1),
  project_id: projectId,
  version: semverLabel,
  base: z.strictObject({ version: semverLabel, content_sha256: sha256Hex }),
});
export type DeltaHeader = z.infer<typeof header>;

const bytes = z.int().min(0);
const path = z.string().min(1);

/**
 * A piece of a file: `[offset, length]` copies from the base file, a number takes that many bytes from the line's
 * member.
 */
const piece = z.union([z.tuple([bytes, z.int().min(1)]), z.int().min(1)]);
export type Piece = z.infer<typeof piece>;

const put = z.strictObject({
  put: path,
  executable: z.boolean(),
  size: bytes,
  sha256: sha256Hex,
  /** Number of the member that holds new bytes. Without `pieces` it is the whole file. */
  member: z.int().min(1).optional(),
  /** A file of the base. Without `pieces` the new file is a copy of it. */
  base: path.optional(),
  pieces: z.array(piece).min(1).optional(),
});
export type PutLine = z.infer<typeof put>;

const drop = z.strictObject({ drop: path });
const folder = z.strictObject({ folder: path });
const line = z.union([put, drop, folder]);

/** One path that differs: a file that is put there, an empty folder, or a path of the base that is gone. */
export type DeltaLine = z.infer<typeof line>;

export const pathOfLine = (entry: DeltaLine): string =>
  "put" in entry ? entry.put : "drop" in entry ? entry.drop : entry.folder;

export const deltaInvalid = (why: string): SealiftError =>
  artifactError("delta_invalid", `The delta is not valid: ${why}.`, {
    hint: "Hosts take the full artifact instead. Tell the publisher if it happens again.",
  });

/** Bytes of one line: a file of many GiB with an edit every few KiB stays below it. */
const MAX_LINE_BYTES = 16 * 1024 * 1024;

/** Reads the lines of an unpacked delta. @throws ArtifactError `delta_invalid` when there are none, `limit_exceeded` */
export async function* readDeltaLines(folder: string): AsyncGenerator<string, undefined> {
  try {
    yield* readLines(join(folder, DELTA_FILE), MAX_LINE_BYTES);
  } catch (error) {
    throw missing(error) ? deltaInvalid(`it has no ${DELTA_FILE}`) : error;
  }
  return undefined;
}

/** Parses the first line. @throws ArtifactError `delta_invalid` */
export const parseHeader = (text: string): DeltaHeader => parse(text, header, "its first line");

/** Parses any other line. @throws ArtifactError `delta_invalid` */
export const parseLine = (text: string, number: number): DeltaLine => parse(text, line, `line ${number}`);

function parse<T extends z.ZodType>(text: string, schema: T, where: string): z.output<T> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw deltaInvalid(`${where} is not JSON`);
  }
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw deltaInvalid(`${where} has another form than it must`);
}
