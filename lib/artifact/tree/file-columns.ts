/** Columns of a table of files: an item for each file, 32 bytes of `sha256`; names follow each other. */
export interface FileColumns {
  size: Float64Array;
  mtimeMs: Float64Array;
  executable: Uint8Array;
  sha256: Uint8Array;
  nameEnd: Float64Array;
  names: Uint8Array;
}

export const SHA256_BYTES = 32;
/**
 * Room of a table at first, where nobody knows better. Pages that nothing is written to cost no memory, while what a
 * table has grown out of stays until it is collected.
 */
const FILES = 128 * 1024;
const NAME_BYTES = 8 * 1024 * 1024;

const float64 = (length: number) => new Float64Array(new SharedArrayBuffer(length * 8));
const bytes = (length: number) => new Uint8Array(new SharedArrayBuffer(length));

/** Makes columns without a file, in memory that threads can share. */
export const emptyColumns = (files = FILES, nameBytes = NAME_BYTES): FileColumns => ({
  size: float64(files),
  mtimeMs: float64(files),
  executable: bytes(files),
  sha256: bytes(files * SHA256_BYTES),
  nameEnd: float64(files),
  names: bytes(nameBytes),
});

/** Makes room for twice as many files, with a copy of what is there. */
export function growFiles(columns: FileColumns): void {
  columns.size = grown(columns.size, float64);
  columns.mtimeMs = grown(columns.mtimeMs, float64);
  columns.executable = grown(columns.executable, bytes);
  columns.sha256 = grown(columns.sha256, bytes);
  columns.nameEnd = grown(columns.nameEnd, float64);
}

/** Makes room for so many bytes of names, if there is less, with a copy of what is there. */
export function growNames(columns: FileColumns, nameBytes: number): void {
  while (nameBytes > columns.names.length) columns.names = grown(columns.names, bytes);
}

function grown<Column extends Float64Array | Uint8Array>(old: Column, made: (length: number) => Column): Column {
  const room = made(old.length * 2);
  room.set(old);
  return room;
}
