import { createHash, type Hash, hash } from "node:crypto";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { artifactError, type SealiftError } from "../../contract/errors.ts";
import type { Limits } from "../limits.ts";
import { NewFile, writeNewFile } from "./new-file.ts";
import { exceeded, NameRegistry, quoted, safeComponents } from "./safe-path.ts";
import { TreeDigest } from "./tree-digest.ts";

/** Files up to this size are written with one call, when their last byte is there. */
const SMALL_FILE_BYTES = 1024 * 1024;

interface OpenFile {
  path: string;
  target: string;
  executable: boolean;
  size: number;
  received: number;
  chunks: Uint8Array[];
  stream?: { file: NewFile; hash: Hash };
}

/**
 * Writes the members of one tar below a staging folder, which must be empty and private, and keeps the digest of each file.
 * Every name passes {@link safeComponents} and {@link NameRegistry}; limits count what really arrives. Writing is synchronous:
 * for many small files a stream or a promise each costs more than the file, and this runs on a worker thread.
 */
export class TreeWriter {
  readonly files = new TreeDigest();
  entries = 0;
  bytes = 0;
  readonly #root: string;
  readonly #limits: Limits;
  readonly #names = new NameRegistry();
  readonly #folders = new Set<string>();
  #file: OpenFile | undefined;

  constructor(root: string, limits: Limits) {
    this.#root = root;
    this.#limits = limits;
  }

  /** @throws ArtifactError for an unsafe, double or excessive member */
  folder(name: string): void {
    this.#countEntry();
    const components = safeComponents(name, this.#limits);
    this.#names.add(components, "folder");
    this.#makeFolder(components);
  }

  /**
   * Starts a file; `write` takes its bytes and `endFile` closes it.
   *
   * @param size declared bytes: a file of any other length is an error
   */
  beginFile(name: string, size: number, executable: boolean): void {
    this.#countEntry();
    const components = safeComponents(name, this.#limits);
    if (components.length === 0) throw artifactError("member_unsafe", "The archive's root is a file.");
    if (name.endsWith("/"))
      throw artifactError("member_unsafe", `The archive's file ${quoted(name)} is named as a folder.`);
    if (size > this.#limits.maxEntryBytes) throw this.#entryTooLarge(name);
    if (this.bytes + size > this.#limits.maxTotalBytes) throw this.#totalTooLarge();
    this.#names.add(components, "file");
    this.#makeFolder(components.slice(0, -1));
    const path = components.join("/");
    this.#file = {
      path,
      target: `${this.#root}/${path}`,
      executable,
      size,
      received: 0,
      chunks: [],
    };
  }

  write(chunk: Uint8Array): void {
    const file = this.#file!;
    file.received += chunk.length;
    this.bytes += chunk.length;
    if (file.received > file.size) throw malformed(file.path, "is longer than it says");
    if (this.bytes > this.#limits.maxTotalBytes) throw this.#totalTooLarge();
    if (file.size <= SMALL_FILE_BYTES) {
      file.chunks.push(chunk);
      return;
    }
    file.stream ??= { file: new NewFile(file.target, file.executable), hash: createHash("sha256") };
    file.stream.hash.update(chunk);
    file.stream.file.write(chunk);
  }

  endFile(): void {
    const file = this.#file!;
    if (file.received !== file.size) throw malformed(file.path, "is shorter than it says");
    if (file.stream !== undefined) {
      file.stream.file[Symbol.dispose]();
      this.files.add(file.path, file.stream.hash.digest("hex"));
    } else {
      const content = file.chunks.length === 1 ? file.chunks[0]! : Buffer.concat(file.chunks);
      writeNewFile(file.target, content, file.executable);
      this.files.add(file.path, hash("sha256", content, "hex"));
    }
    this.#file = undefined;
  }

  /** Releases an open file after an error; the staging folder itself is its owner's to remove. */
  close(): void {
    this.#file?.stream?.file[Symbol.dispose]();
    this.#file = undefined;
  }

  #makeFolder(components: readonly string[]): void {
    const path = components.join("/");
    if (components.length === 0 || this.#folders.has(path)) return;
    mkdirSync(join(this.#root, path), { recursive: true, mode: 0o755 });
    this.#folders.add(path);
  }

  #countEntry(): void {
    this.entries++;
    if (this.entries > this.#limits.maxEntries) {
      throw exceeded(`The archive has more than ${this.#limits.maxEntries} members.`, "--max-entries");
    }
  }

  #entryTooLarge(name: string): SealiftError {
    return exceeded(
      `The member ${quoted(name)} is larger than ${this.#limits.maxEntryBytes} bytes.`,
      "--max-entry-size",
    );
  }

  #totalTooLarge(): SealiftError {
    return exceeded(
      `The archive's files are larger than ${this.#limits.maxTotalBytes} bytes together.`,
      "--max-total-size",
    );
  }
}

const malformed = (path: string, why: string): SealiftError =>
  artifactError("tar_invalid", `The archive's member ${quoted(path)} ${why}.`);
