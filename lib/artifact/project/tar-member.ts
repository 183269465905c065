import { pack } from "tar-stream";
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

/** Names of ASCII up to this length need no pax header. */
const SHORT_NAME = /^[\u0000-\u007f]{0,100}$/;
/** tar-stream counts seconds with 32 bits; any time that does not change makes the same archive from the same tree. */
const MAX_MTIME = 2 ** 31 - 1;

/** Rounds up to whole blocks. */
export const padded = (bytes: number): number => Math.ceil(bytes / BLOCK_BYTES) * BLOCK_BYTES;

/** The part of a pack that makes headers, the pax header of a long name included. */
interface HeaderEncoder {
  push: (block: Buffer) => boolean;
  _encode: (header: object) => void;
}

/**
 * tar-stream's headers without its streams: one for each of many small files would take longer than the file
 * (docs/decisions/0019-manifest-last.md).
 */
const encoder = pack() as unknown as HeaderEncoder;
const blocks: Buffer[] = [];
encoder.push = (block) => blocks.push(block) > 0;

/** Returns the blocks of a member's header: one, or three or more where its name needs a pax header. */
export function memberHeader({ name, type, mode, size, mtime }: TarMember): Buffer {
  const seconds = Math.min(mtime, MAX_MTIME);
  encoder._encode({
    ...{ name, mode, size, uid: 0, gid: 0 },
    type: type === "folder" ? "directory" : "file",
    mtime: new Date(seconds * 1000),
  });
  const header = blocks.splice(0);
  return header.length === 1 ? header[0]! : Buffer.concat(header);
}

/** Bytes of the header that {@link memberHeader} makes. */
export const headerBytes = (name: string): number =>
  SHORT_NAME.test(name) ? BLOCK_BYTES : memberHeader({ name, type: "file", mode: 0, size: 0, mtime: 0 }).length;
