import { BLOCK_BYTES } from "./tar-header.ts";

/** A member as its header says it. Owner and group are 0 and have no names (docs/contract/project-artifact.md). */
export interface TarMember {
  /** The name inside the tar: `./…`, folders with a trailing slash. */
  name: string;
  type: "file" | "folder";
  mode: number;
  /** Bytes; 0 for a folder. */
  size: number;
  /** Seconds since the epoch. */
  mtime: number;
}

const NAME_BYTES = 100;
const PREFIX_BYTES = 155;
/** The name in the header of a member whose whole name is in a pax header. */
const PAX_NAME = "PaxHeader";

/** Rounds up to whole blocks. */
export const padded = (bytes: number): number => Math.ceil(bytes / BLOCK_BYTES) * BLOCK_BYTES;

/** Splits a name into a header's two fields. Undefined for one that is not ASCII or too long: it needs a pax header. */
function splitName(whole: string): { prefix: string; name: string } | undefined {
  if (Buffer.byteLength(whole) !== whole.length) return undefined;
  let prefix = "";
  let name = whole;
  while (name.length > NAME_BYTES) {
    const slash = name.indexOf("/");
    if (slash === -1) return undefined;
    prefix += `${prefix === "" ? "" : "/"}${name.slice(0, slash)}`;
    name = name.slice(slash + 1);
  }
  return prefix.length > PREFIX_BYTES ? undefined : { prefix, name };
}

/** A pax record with the path: its length counts its own digits. */
function paxRecord(path: string): Buffer {
  const record = ` path=${path}\n`;
  const bytes = Buffer.byteLength(record);
  let digits = String(bytes).length;
  if (String(bytes + digits).length > digits) digits++;
  return Buffer.from(`${bytes + digits}${record}`);
}

/** Bytes of the header that {@link memberHeader} makes. */
export const headerBytes = (name: string): number =>
  splitName(name) === undefined ? 2 * BLOCK_BYTES + padded(paxRecord(name).length) : BLOCK_BYTES;

/** Returns the blocks of a member's header: one, or three or more where its name needs a pax header. */
export function memberHeader(member: TarMember): Buffer {
  const split = splitName(member.name);
  const type = member.type === "file" ? "0" : "5";
  if (split !== undefined) return block(split, member, type);
  const record = paxRecord(member.name);
  const name = { prefix: "", name: PAX_NAME };
  const pax = Buffer.alloc(padded(record.length));
  record.copy(pax);
  return Buffer.concat([block(name, { ...member, size: record.length }, "x"), pax, block(name, member, type)]);
}

/** Places in a header block. */
const AT = { size: 124, checksum: 148, prefix: 345 } as const;

/** The block of the last member but for its name and size: those of a tree have few modes and one time. */
let pattern: { key: string; block: Buffer; sum: number } | undefined;

function patternOf({ mode, mtime }: TarMember, type: string): { block: Buffer; sum: number } {
  const key = `${type} ${mode} ${mtime}`;
  if (pattern?.key === key) return pattern;
  const made = Buffer.alloc(BLOCK_BYTES);
  made.write(octal(mode, 6), 100, "latin1");
  made.write(octal(0, 6), 108, "latin1");
  made.write(octal(0, 6), 116, "latin1");
  made.write(octal(mtime, 11), 136, "latin1");
  made.write(type, 156, "latin1");
  made.write("ustar\x0000", 257, "latin1");
  made.write(octal(0, 6), 329, "latin1");
  made.write(octal(0, 6), 337, "latin1");
  // The checksum's own field counts as eight spaces.
  pattern = { key, block: made, sum: sumOf(made, 0, BLOCK_BYTES) + 8 * 0x20 };
  return pattern;
}

function block({ prefix, name }: { prefix: string; name: string }, member: TarMember, type: string): Buffer {
  const { size } = member;
  const { block: base, sum } = patternOf(member, type);
  const header = Buffer.allocUnsafe(BLOCK_BYTES);
  header.set(base);
  let checksum = sum;
  header.write(name, 0, "latin1");
  checksum += sumOf(header, 0, name.length);
  if (prefix !== "") {
    header.write(prefix, AT.prefix, "latin1");
    checksum += sumOf(header, AT.prefix, prefix.length);
  }
  if (size < 0o100000000000) header.write(octal(size, 11), AT.size, "latin1");
  else {
    // Eleven octal digits end at 8 GiB.
    header[AT.size] = 0x80;
    header.writeUIntBE(size, AT.size + 6, 6);
  }
  checksum += sumOf(header, AT.size, 12);
  header.write(octal(checksum, 6), AT.checksum, "latin1");
  return header;
}

const octal = (value: number, digits: number): string => `${value.toString(8).padStart(digits, "0")} `;

function sumOf(bytes: Buffer, from: number, length: number): number {
  let sum = 0;
  for (let at = from; at < from + length; at++) sum += bytes[at]!;
  return sum;
}
