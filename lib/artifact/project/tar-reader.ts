import { artifactError } from "../../contract/errors.ts";
import { quoted } from "../tree/safe-path.ts";
import type { TreeWriter } from "../tree/tree-writer.ts";
import {
  agreedSize,
  BLOCK_BYTES,
  decodeText,
  headerName,
  isZero,
  MEMBER_TYPES,
  type PaxValues,
  readPax,
  readTarHeader,
  type TarHeader,
  tarInvalid,
} from "./tar-header.ts";

/** Largest long name or pax header, in bytes: more than any path and the times that packers write. */
const EXTENSION_MAX_BYTES = 256 * 1024;

/** Extension types: pax headers for a member (`x`) and for all (`g`), and GNU's long names (`L`). */
type Extension = "x" | "g" | "L";

const isExtension = (type: string): type is Extension => type === "x" || type === "g" || type === "L";

/**
 * Reads a tar of regular files and folders as it arrives (docs/contract/project-artifact.md), and rejects what GNU tar,
 * bsdtar or Python would read differently: members after the end, malformed pax records, contradictory sizes. A
 * synchronous state machine that allocates nothing for a member that arrives in one piece.
 */
export class TarReader {
  readonly #tree: TreeWriter;
  /** Kind of the next bytes. */
  #state: "header" | "extension" | "content" | "padding" | "zeros" | "end" = "header";
  /** Bytes left in this state. */
  #left = BLOCK_BYTES;
  #padding = 0;
  /** Header or extension that arrives in several pieces. */
  #partial = Buffer.alloc(BLOCK_BYTES);
  /** Copy of the current header: it is decoded as text, which shared memory does not allow. */
  readonly #header = Buffer.alloc(BLOCK_BYTES);
  #extension: Extension = "x";
  #pax: PaxValues | undefined;
  #longName: string | undefined;

  constructor(tree: TreeWriter) {
    this.#tree = tree;
  }

  /**
   * Takes the next bytes, which may be overwritten when this returns.
   *
   * @throws ArtifactError `tar_invalid`, `member_type`, and the errors of {@link TreeWriter}
   */
  push(chunk: Uint8Array): void {
    for (let at = 0; at < chunk.length;) {
      const taken = Math.min(this.#left, chunk.length - at);
      const piece = chunk.subarray(at, at + taken);
      at += taken;
      switch (this.#state) {
        case "header":
        case "extension":
          this.#collect(piece);
          break;
        case "content":
          this.#tree.write(piece);
          this.#left -= taken;
          if (this.#left === 0) this.#endFile();
          break;
        case "zeros":
        case "padding":
          // Python's reader stops there, silently: it would see fewer members.
          if (this.#state === "zeros" && !isZero(piece)) throw tarInvalid("bytes follow a pax header or a long name");
          this.#left -= taken;
          if (this.#left === 0) this.#expectHeader();
          break;
        case "end":
          if (!isZero(piece)) throw tarInvalid("it has members behind its end");
          break;
      }
    }
  }

  /** Ends the archive. @throws ArtifactError `tar_invalid` when it ends within a member */
  end(): void {
    const between = this.#state === "header" && this.#left === BLOCK_BYTES && !this.#extended;
    if (!between && this.#state !== "end") throw tarInvalid("it ends early");
  }

  get #extended(): boolean {
    return this.#pax !== undefined || this.#longName !== undefined;
  }

  /** Collects a header or an extension; one that arrives whole is used in place. */
  #collect(piece: Uint8Array): void {
    const wanted = this.#state === "header" ? BLOCK_BYTES : this.#partial.length;
    if (piece.length === wanted) this.#complete(piece);
    else {
      this.#partial.set(piece, wanted - this.#left);
      this.#left -= piece.length;
      if (this.#left === 0) this.#complete(this.#partial.subarray(0, wanted));
    }
  }

  #complete(bytes: Uint8Array): void {
    if (this.#state === "extension") this.#takeExtension(bytes);
    else if (isZero(bytes)) this.#takeZeros();
    else {
      this.#header.set(bytes);
      this.#takeHeader(this.#header);
    }
  }

  #takeZeros(): void {
    if (this.#extended) throw tarInvalid("it ends behind a pax header or a long name");
    // Only zeros may follow the first closing block: the second one, and the padding of tapes.
    this.#state = "end";
    this.#left = Infinity;
  }

  #expectHeader(): void {
    this.#state = "header";
    this.#left = BLOCK_BYTES;
  }

  #takeHeader(block: Buffer): void {
    const header = readTarHeader(block);
    if (isExtension(header.type)) this.#beginExtension(header.type, header.size);
    else this.#beginMember(header, this.#pax?.path ?? this.#longName ?? headerName(block));
  }

  #beginExtension(type: Extension, size: number): void {
    if (size === 0 || size > EXTENSION_MAX_BYTES)
      throw tarInvalid(`a pax header or long name has ${size} bytes, the limit is ${EXTENSION_MAX_BYTES}`);
    // Readers disagree about which of two names counts.
    if (type !== "g" && this.#extended) throw tarInvalid("a member has two pax headers or long names");
    this.#extension = type;
    this.#state = "extension";
    this.#left = size;
    this.#partial = Buffer.alloc(Math.max(size, BLOCK_BYTES)).subarray(0, size);
    this.#padding = paddingOf(size);
  }

  #takeExtension(bytes: Uint8Array): void {
    if (this.#extension === "L") {
      const end = bytes.indexOf(0);
      // Without a final NUL, some readers continue into the padding.
      if (end < 1 || !isZero(bytes.subarray(end))) throw tarInvalid("a long name does not end with a NUL");
      this.#longName = decodeText(bytes.subarray(0, end));
    } else {
      const values = readPax(bytes, this.#extension === "g" ? "global" : "member");
      if (this.#extension === "x") this.#pax = values;
    }
    this.#partial = Buffer.alloc(BLOCK_BYTES);
    this.#skipPadding("zeros");
  }

  #skipPadding(state: "padding" | "zeros"): void {
    this.#left = this.#padding;
    if (this.#left === 0) this.#expectHeader();
    else this.#state = state;
  }

  #beginMember(header: TarHeader, name: string): void {
    const size = agreedSize(name, header.size, this.#pax?.size);
    this.#pax = undefined;
    this.#longName = undefined;
    const isFolder = header.type === "5" || (header.type === "0" && size === 0 && name.endsWith("/"));
    if (!isFolder && header.type !== "0") {
      const what = MEMBER_TYPES[header.type] ?? "member of an unknown type";
      throw artifactError("member_type", `The archive's member ${quoted(name)} is a ${what}.`, {
        hint: "Artifacts hold regular files and folders only; ask the publisher for one without it.",
      });
    }
    if (isFolder) {
      // Some readers take the bytes for a folder's content, others for headers.
      if (size !== 0) throw tarInvalid(`the folder ${quoted(name)} has content`);
      this.#tree.folder(name);
      this.#expectHeader();
      return;
    }
    this.#tree.beginFile(name, size, (header.mode & 0o100) !== 0);
    this.#padding = paddingOf(size);
    this.#state = "content";
    this.#left = size;
    if (size === 0) this.#endFile();
  }

  #endFile(): void {
    this.#tree.endFile();
    this.#skipPadding("padding");
  }
}

const paddingOf = (size: number): number => (BLOCK_BYTES - (size % BLOCK_BYTES)) % BLOCK_BYTES;
