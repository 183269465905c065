/**
 * ZIP archives made by hand, for attacks: every field of every header can be told to lie. None of it is the product's
 * code, so a mistake there is not repeated here.
 */
import { crc32, deflateRawSync } from "node:zlib";

/** The values of one header, where they should not be the truth. */
export interface ZipHeader {
  signature?: number;
  name?: string | Buffer;
  flags?: number;
  method?: number;
  crc?: number;
  compressedSize?: number;
  size?: number;
  extra?: Buffer;
}

export interface ZipDescriptor {
  crc?: number;
  compressedSize?: number;
  size?: number;
  /** Whether its optional signature is written. Default true. */
  signature?: boolean;
}

/** One entry as it will stand in the archive, however wrong. */
export interface ForgedEntry {
  name: string | Buffer;
  content?: Uint8Array | string;
  /** 0 stored (default), 8 deflated, or a number that nobody knows. */
  method?: number;
  /** The bytes of the entry as they are, instead of those that the method makes of the content. */
  data?: Uint8Array;
  /** Default: UTF-8 names, and bit 3 with a descriptor. */
  flags?: number;
  /** The whole Unix mode with its type. Default: a file 0644, or a folder 0755 for names that end with a slash. */
  mode?: number;
  /** DOS attributes. Default: none. */
  attributes?: number;
  /** The system that made it: 3 is Unix (default), 0 is DOS. */
  madeBy?: number;
  /** A data descriptor behind the bytes, with zeros in the local header. */
  descriptor?: true | ZipDescriptor;
  /** Sizes in ZIP64 fields. */
  zip64?: boolean;
  /** The values of both headers. */
  declared?: ZipHeader;
  /** The values of one of them alone. */
  local?: ZipHeader;
  central?: ZipHeader & { offset?: number };
  /** False: no local header and no bytes, `central.offset` points somewhere else. */
  written?: boolean;
  /** False: the central directory does not know of it. */
  listed?: boolean;
}

export interface ForgedZip {
  entries: readonly ForgedEntry[];
  /** Behind the end record, as source hosts write the commit. */
  comment?: string | Buffer;
  /** Bytes in front of the first entry. */
  prefix?: Uint8Array;
  /** The end record's count instead of the truth. */
  count?: number;
  directorySize?: number;
  directoryOffset?: number;
  /** With a ZIP64 end record. */
  zip64?: boolean;
}

export const FOLDER = 0o040755;
export const LINK = 0o120777;
const DESCRIPTOR_FLAG = 0x0008;
const UTF8_FLAG = 0x0800;

const zip64Field = (...values: number[]): Buffer => {
  const field = Buffer.alloc(4 + 8 * values.length);
  field.writeUInt16LE(1, 0);
  field.writeUInt16LE(8 * values.length, 2);
  values.forEach((value, index) => field.writeBigUInt64LE(BigInt(value), 4 + 8 * index));
  return field;
};

/** The 26 bytes that both headers share, from "version needed" to the extra field's length. */
function commonFields(header: Required<ZipHeader>, name: Buffer): Buffer {
  const fields = Buffer.alloc(26);
  fields.writeUInt16LE(45, 0);
  fields.writeUInt16LE(header.flags, 2);
  fields.writeUInt16LE(header.method, 4);
  fields.writeUInt16LE(0x21, 8);
  fields.writeUInt32LE(header.crc >>> 0, 10);
  fields.writeUInt32LE(header.compressedSize, 14);
  fields.writeUInt32LE(header.size, 18);
  fields.writeUInt16LE(name.length, 22);
  fields.writeUInt16LE(header.extra.length, 24);
  return fields;
}

const word = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value >>> 0);
  return bytes;
};

export function forgedZip(options: ForgedZip | readonly ForgedEntry[]): Buffer {
  const archive = (Array.isArray(options) ? { entries: options } : options) as ForgedZip;
  const parts: Buffer[] = [Buffer.from(archive.prefix ?? [])];
  const directory: Buffer[] = [];
  let offset = parts[0]!.length;
  let listed = 0;
  for (const entry of archive.entries) {
    const content = Buffer.from(entry.content ?? "");
    const method = entry.method ?? 0;
    const data = Buffer.from(entry.data ?? (method === 8 ? deflateRawSync(content) : content));
    const described = entry.descriptor !== undefined;
    const isFolder = Buffer.from(entry.name).at(-1) === 0x2f;
    const truth: Required<ZipHeader> = {
      signature: 0x02014b50,
      name: entry.name,
      flags: entry.flags ?? UTF8_FLAG | (described ? DESCRIPTOR_FLAG : 0),
      method,
      crc: crc32(content),
      compressedSize: data.length,
      size: content.length,
      extra: Buffer.alloc(0),
      ...entry.declared,
    };
    const big: ZipHeader =
      entry.zip64 === true
        ? { size: 0xffffffff, compressedSize: 0xffffffff, extra: zip64Field(truth.size, truth.compressedSize) }
        : {};
    const start = offset;
    if (entry.written !== false) {
      const unknown = described ? { crc: 0, compressedSize: 0, size: 0 } : big;
      const local = { ...truth, signature: 0x04034b50, ...unknown, ...entry.local };
      const name = Buffer.from(local.name);
      const block = [word(local.signature), commonFields(local, name), name, local.extra, data];
      if (described) {
        const says = { ...truth, signature: true, ...(entry.descriptor === true ? {} : entry.descriptor) };
        if (says.signature) block.push(word(0x08074b50));
        block.push(word(says.crc), word(says.compressedSize), word(says.size));
      }
      const bytes = Buffer.concat(block);
      parts.push(bytes);
      offset += bytes.length;
    }
    if (entry.listed === false) continue;
    listed++;
    const central = { ...truth, ...big, offset: start, ...entry.central };
    const name = Buffer.from(central.name);
    const tail = Buffer.alloc(14);
    const mode = entry.mode ?? (isFolder ? FOLDER : 0o100644);
    tail.writeUInt32LE(((mode << 16) | (entry.attributes ?? 0)) >>> 0, 6);
    tail.writeUInt32LE(central.offset, 10);
    directory.push(
      word(central.signature),
      Buffer.from([45, entry.madeBy ?? 3]),
      commonFields(central, name),
      tail,
      name,
      central.extra,
    );
  }
  const listing = Buffer.concat(directory);
  const count = archive.count ?? listed;
  const size = archive.directorySize ?? listing.length;
  const at = archive.directoryOffset ?? offset;
  const comment = Buffer.from(archive.comment ?? "");
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  const big = archive.zip64 === true;
  end.writeUInt16LE(big ? 0xffff : count, 8);
  end.writeUInt16LE(big ? 0xffff : count, 10);
  end.writeUInt32LE(big ? 0xffffffff : size, 12);
  end.writeUInt32LE(big ? 0xffffffff : at, 16);
  end.writeUInt16LE(comment.length, 20);
  const end64 = Buffer.alloc(big ? 76 : 0);
  if (big) {
    end64.writeUInt32LE(0x06064b50, 0);
    end64.writeBigUInt64LE(44n, 4);
    end64.writeUInt16LE(45, 12);
    end64.writeUInt16LE(45, 14);
    end64.writeBigUInt64LE(BigInt(count), 24);
    end64.writeBigUInt64LE(BigInt(count), 32);
    end64.writeBigUInt64LE(BigInt(size), 40);
    end64.writeBigUInt64LE(BigInt(at), 48);
    end64.writeUInt32LE(0x07064b50, 56);
    end64.writeBigUInt64LE(BigInt(offset + listing.length), 64);
    end64.writeUInt32LE(1, 72);
  }
  return Buffer.concat([...parts, listing, end64, end, comment]);
}

/** The entry that makes a plugin of an archive. */
export const descriptorEntry = (slug: string, version = "1.0.0", top = ""): ForgedEntry => ({
  name: `${top}plugin.yaml`,
  content: `name: ${slug}\nversion: ${version}\n`,
});
