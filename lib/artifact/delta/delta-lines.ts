import { createHash } from "node:crypto";
import { statSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { artifactError, type SealiftError } from "../../contract/errors.ts";
import { projectId, semverLabel, sha256Hex } from "../../contract/identifiers.ts";
import { JSON_LIMITS } from "../../support/documents/limits.ts";
import { safelyParsed } from "../../support/documents/safe-parse.ts";
import { parseSignedJson } from "../../support/documents/signed-json.ts";
import { missing } from "../../support/files.ts";
import { readLines } from "../tree/read-lines.ts";
import { listedInOrder, type TreeListing } from "../tree/tree-listing.ts";

/**
 * Members of a delta's tar besides `manifest.json`: the differences, and the new bytes, numbered from 1 in the order of
 * the lines.
 */
export const DELTA_FILE = "delta.ndjson";
export const memberPath = (number: number): string => `bytes/${number}`;

/** First line of `delta.ndjson`: which tree becomes which. */
const header = z.strictObject({
  v: z.literal(1),
  project_id: projectId,
  version: semverLabel,
  /** Listing digest of the finished tree. */
  listing_sha256: sha256Hex,
  base: z.strictObject({ version: semverLabel, content_sha256: sha256Hex }),
});
export type DeltaHeader = z.infer<typeof header>;

const bytes = z.int().min(0);
/**
 * Path as in the tree digest, without a leading or trailing slash. Unsafe paths are found by the checks of the tree.
 */
const path = z.string().regex(/^(?!\.(?:\/|$)).*[^/]$/su);

/**
 * Piece of a file: `[offset, length]` copies from the base file, a number takes that many bytes from the line's member.
 */
export type Piece = [offset: number, length: number] | number;

/** Most pieces of one file, and of all files of a delta: 16 bytes each while a tree is completed. */
export const MAX_FILE_PIECES = 128 * 1024;
export const MAX_PIECES = 1024 * 1024;

/** Pieces of a file as pairs of numbers: offset and length, with offset -1 for new bytes. */
export type PackedPieces = Float64Array;
const NEW_BYTES = -1;

export function* eachPiece(pieces: PackedPieces): Generator<{ offset: number; length: number; isNew: boolean }> {
  for (let at = 0; at < pieces.length; at += 2) {
    const [offset, length] = [pieces[at]!, pieces[at + 1]!];
    yield { offset, length, isNew: offset === NEW_BYTES };
  }
}

const put = z.strictObject({
  put: path,
  executable: z.boolean(),
  size: bytes,
  sha256: sha256Hex,
  /** Number of the member that holds new bytes. Without `pieces` it is the whole file. */
  member: z.int().min(1).optional(),
  /** Base file. Without `pieces` the new file is a copy of it. */
  base: path.optional(),
  /** Packed by hand: as objects, the pieces of one long line would take tens of megabytes. */
  pieces: z.unknown().transform(packed).optional(),
});
export type PutLine = z.output<typeof put>;

function packed(value: unknown, context: z.RefinementCtx): PackedPieces {
  const wrong = (why: string): never => {
    context.addIssue(why);
    return z.NEVER;
  };
  if (!Array.isArray(value) || value.length === 0) return wrong("must be pieces");
  if (value.length > MAX_FILE_PIECES) return wrong(`must be at most ${MAX_FILE_PIECES} pieces`);
  const pieces = new Float64Array(value.length * 2);
  for (const [index, piece] of (value as unknown[]).entries()) {
    const [offset, length] = Array.isArray(piece) ? (piece as unknown[]) : [NEW_BYTES, piece];
    const isPair = !Array.isArray(piece) || (piece.length === 2 && isCount(offset));
    if (!isPair || !isCount(length) || length === 0) return wrong("must be [offset, length] or a number of bytes");
    pieces[index * 2] = offset as number;
    pieces[index * 2 + 1] = length;
  }
  return pieces;
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

const drop = z.strictObject({ drop: path });
const folder = z.strictObject({ folder: path });
const line = z.union([put, drop, folder]);

/** Path that differs: a file to write, an empty folder, or a removed path of the base. */
export type DeltaLine = z.output<typeof line>;

export const pathOfLine = (entry: DeltaLine): string =>
  "put" in entry ? entry.put : "drop" in entry ? entry.drop : entry.folder;

export const deltaInvalid = (why: string): SealiftError =>
  artifactError("delta_invalid", `The delta is not valid: ${why}.`, {
    hint: "Hosts take the full artifact instead. Tell the publisher if it happens again.",
  });

/** Longest line, in bytes: room for the pieces of one file. */
const MAX_LINE_BYTES = 4 * 1024 * 1024;
/** Limits of one line: pieces are counted by its schema. */
const LINE_LIMITS = { ...JSON_LIMITS, maxBytes: MAX_LINE_BYTES, maxNodes: Infinity };
/** Bytes of lines that any delta may have, to which more are added for each byte of the delta. */
const FREE_BYTES = 1024 * 1024;
const BYTES_PER_BYTE = 256;

/**
 * Returns the most bytes of lines that a delta may have: lines compress well, but beyond this they cause more work than
 * the delta can save.
 *
 * @param deltaBytes of the sealed delta
 */
export const maxLineBytes = (deltaBytes: number): number => FREE_BYTES + BYTES_PER_BYTE * deltaBytes;

/**
 * Checks the size of the lines of an unpacked delta, before reading any.
 *
 * @throws ArtifactError `delta_invalid` when there are none, `limit_exceeded` when there are more than {@link
 *   maxLineBytes}
 */
export function checkSizeOfLines(folder: string, deltaBytes: number): void {
  const size = statSync(join(folder, DELTA_FILE), { throwIfNoEntry: false })?.size;
  if (size === undefined) throw noLines();
  if (size > maxLineBytes(deltaBytes))
    throw artifactError(
      "limit_exceeded",
      `A delta of ${deltaBytes} bytes has ${size} bytes of lines, which is too many.`,
    );
}

const noLines = (): SealiftError => deltaInvalid(`it has no ${DELTA_FILE}`);

/** Reads the lines of an unpacked delta. @throws ArtifactError `delta_invalid` when there are none, `limit_exceeded` */
export async function* readDeltaLines(folder: string): AsyncGenerator<string, undefined> {
  try {
    yield* readLines(join(folder, DELTA_FILE), MAX_LINE_BYTES);
  } catch (error) {
    throw missing(error) ? noLines() : error;
  }
  return undefined;
}

/** Parses the first line. @throws ArtifactError `delta_invalid` */
export const parseHeader = (text: string): DeltaHeader => parse(text, header, "its first line");

/** Parses any line but the first. @throws ArtifactError `delta_invalid` */
export const parseLine = (text: string, number: number): DeltaLine => parse(text, line, `line ${number}`);

function parse<T extends z.ZodType>(text: string, schema: T, where: string): z.output<T> {
  let value: unknown;
  try {
    value = parseSignedJson(text, LINE_LIMITS);
  } catch (cause) {
    throw deltaInvalid(`${where} is not valid JSON: ${(cause as Error).message}`);
  }
  const result = safelyParsed(schema, value);
  if (result.success) return result.data;
  throw deltaInvalid(`${where} has another form than it must`);
}

/** Characters of lines hashed at a time. */
const BATCH = 64 * 1024;

/**
 * Returns the digest of a tree's listing, lower-case hex. Besides names and contents it covers what the tree digest
 * does not: which files are executable and which folders are empty (docs/contract/delta.md#listing-digest).
 */
export function listingDigest(listing: TreeListing): string {
  const { files } = listing;
  const digest = createHash("sha256");
  let text = "";
  for (const { file, path } of listedInOrder(listing)) {
    text +=
      file === undefined
        ? `folder ${path}\n`
        : `${files.isExecutable(file) ? "executable" : "file"} ${files.sha256At(file)} ${path}\n`;
    if (text.length < BATCH) continue;
    digest.update(text);
    text = "";
  }
  return digest.update(text).digest("hex");
}
