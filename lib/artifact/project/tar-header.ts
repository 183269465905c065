import { artifactError, type SealiftError } from "../../contract/errors.ts";
import { quoted } from "../tree/safe-path.ts";

export const BLOCK_BYTES = 512;

const CHECKSUM_AT = 148;
const CHECKSUM_BYTES = 8;
const PREFIX_AT = 345;
const PREFIX_BYTES = 155;
/** Largest size that eleven octal digits can express. */
const OCTAL_MAX = 0o77777777777;

/** Facts of a member's header block. */
export interface TarHeader {
  size: number;
  mode: number;
  /** `0` for a file; see {@link MEMBER_TYPES}. */
  type: string;
}

/** Member types besides files (`0`) and folders (`5`), as messages call them. All are rejected. */
export const MEMBER_TYPES: Readonly<Record<string, string>> = {
  1: "hard link",
  2: "symbolic link",
  3: "character device",
  4: "block device",
  6: "fifo",
  7: "contiguous file",
  S: "sparse file",
};

export const tarInvalid = (message: string): SealiftError =>
  artifactError("tar_invalid", `The archive inside the artifact is malformed: ${message}.`, {
    hint: "Nothing was installed. Ask the publisher for a new version, packed by another program.",
  });

const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Decodes UTF-8 strictly. @throws ArtifactError `member_unsafe` */
export function decodeText(bytes: Uint8Array): string {
  try {
    // A decoder does not accept views of shared memory.
    return UTF8.decode(bytes.buffer instanceof SharedArrayBuffer ? Uint8Array.from(bytes) : bytes);
  } catch {
    throw artifactError(
      "member_unsafe",
      `The archive's member ${quoted(Buffer.from(bytes).toString("latin1"))} has a name that is not UTF-8.`,
    );
  }
}

/** True for a block of zeros, which ends an archive. */
export function isZero(bytes: Uint8Array): boolean {
  for (let i = 0; i < bytes.length; i++) if (bytes[i] !== 0) return false;
  return true;
}

/** Returns the text of a field up to its first NUL. */
function textField(block: Buffer, at: number, bytes: number): string {
  let end = at;
  let ascii = true;
  for (; end < at + bytes && block[end] !== 0; end++) ascii &&= block[end]! < 0x80;
  return ascii ? block.toString("latin1", at, end) : decodeText(block.subarray(at, end));
}

/**
 * Reads a number in octal digits, with spaces around them and ended by a NUL or the field, or in base 256. Readers
 * disagree about other forms.
 */
function numberField(block: Uint8Array, at: number, bytes: number, what: string): number {
  let value = 0;
  if ((block[at]! & 0x80) !== 0) {
    value = block[at]! & 0x7f;
    for (let i = at + 1; i < at + bytes && Number.isSafeInteger(value); i++) value = value * 256 + block[i]!;
  } else {
    let i = at;
    const end = at + bytes;
    while (i < end && block[i] === 0x20) i++;
    const digits = i;
    for (; i < end && block[i]! >= 0x30 && block[i]! <= 0x37; i++) value = value * 8 + block[i]! - 0x30;
    if (i === digits) value = Number.NaN;
    while (i < end && block[i] === 0x20) i++;
    if (i < end && block[i] !== 0) value = Number.NaN;
  }
  if (!Number.isSafeInteger(value)) throw tarInvalid(`a member has a ${what} that is not a number`);
  return value;
}

/** Places of header numbers that are not used here. */
const OTHER_NUMBERS = [
  { what: "owner", at: 108, bytes: 8 },
  { what: "group", at: 116, bytes: 8 },
  { what: "time", at: 136, bytes: 12 },
  { what: "device", at: 329, bytes: 8 },
  { what: "device", at: 337, bytes: 8 },
] as const;

/**
 * Checks numbers that are not used here, because readers disagree about invalid ones: Python takes them for the end of
 * the archive, bsdtar rejects them, and GNU tar continues.
 */
function checkOtherNumbers(block: Buffer): void {
  for (const { what, at, bytes } of OTHER_NUMBERS) {
    const first = block[at]!;
    // Empty, or in base 256, which may be negative: a time before 1970.
    if (first === 0 || first === 0x80 || first === 0xff) continue;
    if (first === 0x20 && /^ +$/.test(textField(block, at, bytes))) continue;
    if ((first & 0x80) !== 0) throw tarInvalid(`a member has a ${what} that is not a number`);
    numberField(block, at, bytes, what);
  }
}

/**
 * Reads a member's header block of the forms `ustar` and GNU.
 *
 * @throws ArtifactError `tar_invalid`
 */
export function readTarHeader(block: Buffer): TarHeader {
  let sum = CHECKSUM_BYTES * 0x20;
  for (let i = 0; i < CHECKSUM_AT; i++) sum += block[i]!;
  for (let i = CHECKSUM_AT + CHECKSUM_BYTES; i < BLOCK_BYTES; i++) sum += block[i]!;
  const magic = block.toString("latin1", 257, 265);
  // GNU's format has no name prefix; a NUL after the magic marks the other format.
  if (!magic.startsWith("ustar\0") && magic !== "ustar  \0")
    throw tarInvalid("a block where a member should begin is not a header");
  if (numberField(block, CHECKSUM_AT, CHECKSUM_BYTES, "checksum") !== sum)
    throw tarInvalid("a member's header has a wrong checksum");
  const type = block[156] === 0 ? "0" : String.fromCharCode(block[156]!);
  // Where the other format has a name prefix, GNU's has times of incremental backups, which some readers take for a
  // prefix anyway. A sparse member has its map there; it is rejected for its type.
  if (magic === "ustar  \0" && type !== "S" && !isZero(block.subarray(PREFIX_AT, PREFIX_AT + PREFIX_BYTES)))
    throw tarInvalid("a member has bytes where one form of headers has a part of the name and another one has times");
  checkOtherNumbers(block);
  return {
    size: numberField(block, 124, 12, "size"),
    mode: block[100] === 0 ? 0 : numberField(block, 100, 8, "mode"),
    type,
  };
}

/**
 * Returns the name in a header block. Packers cut it, even within a character, when a pax header or a long name has all
 * of it.
 *
 * @throws ArtifactError `member_unsafe`
 */
export function headerName(block: Buffer): string {
  const name = textField(block, 0, 100);
  const prefix = block[262] === 0 ? textField(block, PREFIX_AT, PREFIX_BYTES) : "";
  return prefix === "" ? name : `${prefix}/${name}`;
}

/** Changes that a pax header makes to the next member. */
export interface PaxValues {
  path?: string;
  size?: number;
}

/**
 * Reads the records of a pax header, `<length> <key>=<value>\n` each.
 *
 * @param scope `global` headers must not change members
 * @throws ArtifactError `tar_invalid`; `member_type` for a sparse file
 */
export function readPax(bytes: Uint8Array, scope: "member" | "global"): PaxValues {
  const values: PaxValues = {};
  for (let at = 0; at < bytes.length;) {
    const space = bytes.indexOf(0x20, at);
    const digits = space === -1 ? "" : String.fromCharCode(...bytes.subarray(at, Math.min(space, at + 10)));
    const end = /^[1-9][0-9]*$/.test(digits) && space - at === digits.length ? at + Number(digits) : 0;
    if (end <= space || end > bytes.length || bytes[end - 1] !== 0x0a)
      throw tarInvalid("a pax header has a record whose length is wrong");
    const record = bytes.subarray(space + 1, end - 1);
    const equals = record.indexOf(0x3d);
    if (equals < 1) throw tarInvalid("a pax header has a record without a key");
    takeRecord(values, decodeText(record.subarray(0, equals)), record.subarray(equals + 1), scope);
    at = end;
  }
  return values;
}

function takeRecord(values: PaxValues, key: string, value: Uint8Array, scope: "member" | "global"): void {
  if (key.includes("\0")) throw tarInvalid("a pax header has a key with a NUL in it");
  if (key.startsWith("GNU.sparse"))
    throw artifactError("member_type", "The archive has a sparse file.", {
      hint: "Artifacts hold regular files and folders only; ask the publisher for one without it.",
    });
  if (key === "hdrcharset" && decodeText(value) !== "ISO-IR 10646 2000 UTF-8")
    throw tarInvalid("a pax header is not UTF-8");
  if (key !== "path" && key !== "size") return;
  if (scope === "global") throw tarInvalid(`a global pax header names a ${key}`);
  if (values[key] !== undefined) throw tarInvalid(`a pax header names two of a ${key}`);
  if (value.length === 0 || value.includes(0)) throw tarInvalid(`a pax header has an empty ${key}, or a NUL in it`);
  const text = decodeText(value);
  if (key === "path") {
    values.path = text;
    return;
  }
  const size = /^[0-9]{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(size)) throw tarInvalid("a pax header has a size that is not a number");
  values.size = size;
}

/**
 * Returns the size on which header and pax header agree: a pax header may only state what the header's octal digits
 * cannot.
 */
export function agreedSize(name: string, size: number, pax: number | undefined): number {
  if (pax === undefined || pax === size) return size;
  if (pax <= OCTAL_MAX) throw tarInvalid(`the member ${quoted(name)} has two different sizes`);
  return pax;
}
