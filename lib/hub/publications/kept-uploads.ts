import { createHash, type Hash } from "node:crypto";
import { open } from "node:fs/promises";
import type * as z from "zod";
import type { restFields } from "../../contract/publishing/uploads.ts";
import { readChunks } from "../../support/read-chunks.ts";
import { countBuffered } from "../base/buffer-collection.ts";
import { HubError, notFound } from "../base/errors.ts";
import type { Blobs, IncomingBlob, KeptFile } from "../blobs/port.ts";
import { uploadTurns } from "./upload-turns.ts";

/** Most kept uploads of an owner; the oldest go first. */
const MOST_OF_OWNER = 8;
/** Most digests that are remembered. Those of other kept files are computed again. */
const MOST_DIGESTS = 256;

/** Owner of an upload, and the id of the project, plugin or service it goes to: it is nobody else's. */
export interface UploadPlace {
  owner: string;
  targetId: string;
}

/** Request that brings an upload. */
export interface Bringing extends UploadPlace {
  uploads: KeptUploads;
  /** Decides whether bytes of the owner may be kept. @throws HubError when they may not */
  mayKeep: (bytes: number) => Promise<void>;
  /** Ends the request, since another one goes on with its upload. */
  giveWay: () => void;
}

/** Upload to start, or to continue at an offset. */
type AskedUpload = Pick<z.output<typeof restFields>, "upload_id"> & Partial<z.output<typeof restFields>>;

/** File of an upload while it arrives. Disposing it discards the file unless that was stored or kept. */
export interface ArrivingFile extends AsyncDisposable {
  blob: IncomingBlob;
  /** SHA-256 of the bytes written so far, which the receiver updates. */
  hash: Hash;
  /** Marks the form as whole: from here on no other request ends this one. */
  whole?(): void;
  /** Keeps what has arrived, for another request. */
  keep?(): Promise<void>;
}

interface Active {
  giveWay: () => void;
  isWhole: boolean;
  settled: Promise<void>;
}

interface Digest {
  hash: Hash;
  bytes: number;
}

const hex = (...parts: string[]): string => createHash("sha256").update(JSON.stringify(parts)).digest("hex");
const ownersPrefix = (owner: string): string => `${hex(owner).slice(0, 32)}-`;
const nameOf = ({ owner, targetId }: UploadPlace, id: string): string =>
  `${ownersPrefix(owner)}${hex(owner, targetId, id).slice(0, 48)}`;

const unknownUpload = (): HubError => notFound("Nothing is kept of such an upload; send the whole file.");

/**
 * Bytes of uploads that were cut, for the request that goes on with them (docs/contract/uploads.md). They lie in the
 * local folder where uploads arrive, under names made of owner, target and the upload's id, and so outlive the process.
 */
export class KeptUploads {
  readonly #blobs: Blobs;
  readonly #maxBytes: number;
  readonly #active = new Map<string, Active>();
  /** Digests of files that this process has kept, by path. */
  readonly #digests = new Map<string, Digest>();

  /** @param maxBytes most bytes that are kept for an owner */
  constructor(blobs: Blobs, maxBytes: number) {
    this.#blobs = blobs;
    this.#maxBytes = maxBytes;
  }

  /**
   * Returns how many bytes of an upload are kept. Ends the request that brings it, whose connection may be dead without
   * the hub knowing.
   *
   * @throws HubError 404 for none
   */
  async offset(place: UploadPlace, id: string): Promise<number> {
    const name = nameOf(place, id);
    const active = this.#active.get(name);
    if (active?.isWhole === false) active.giveWay();
    await active?.settled;
    const bytes = (await this.#find(name))?.bytes ?? 0;
    if (bytes === 0) throw unknownUpload();
    return bytes;
  }

  /**
   * Starts an upload, or continues one. Reads kept bytes again unless this process has hashed them.
   *
   * @throws HubError 409 while another request brings it, or when its kept bytes are not those at the offset; 404 when
   *   nothing is kept
   */
  async begin(bringing: Bringing, asked: AskedUpload): Promise<ArrivingFile> {
    const name = nameOf(bringing, asked.upload_id);
    if (this.#active.has(name))
      throw new HubError(409, "upload_busy", "Another request brings this upload, or goes on with it.");
    const { promise: settled, resolve } = Promise.withResolvers<void>();
    const active: Active = { giveWay: bringing.giveWay, isWhole: false, settled };
    this.#active.set(name, active);
    const release = (): void => {
      this.#active.delete(name);
      resolve();
    };
    try {
      const { blob, hash } = await this.#open(name, asked);
      return {
        blob,
        hash,
        whole: () => void (active.isWhole = true),
        keep: () => this.#keep(bringing, blob, hash),
        async [Symbol.asyncDispose]() {
          try {
            await blob[Symbol.asyncDispose]();
          } finally {
            release();
          }
        },
      };
    } catch (error) {
      release();
      throw error;
    }
  }

  async #open(
    name: string,
    { upload_offset, upload_sha256 }: AskedUpload,
  ): Promise<Pick<ArrivingFile, "blob" | "hash">> {
    if (upload_offset === undefined) {
      for (const { path } of await this.#blobs.kept(name)) await this.#forget(path);
      return { blob: await this.#blobs.create(name), hash: createHash("sha256") };
    }
    const kept = await this.#find(name);
    if (kept === undefined) throw unknownUpload();
    if (kept.bytes !== upload_offset)
      throw new HubError(409, "upload_offset", `The upload goes on at byte ${kept.bytes}, not at ${upload_offset}.`, {
        fields: { upload_offset: kept.bytes },
      });
    const known = this.#digests.get(kept.path);
    const isKnown = known?.bytes === kept.bytes;
    const hash = isKnown ? known.hash : createHash("sha256");
    const blob = await (isKnown ? this.#blobs.reopen(kept.path) : this.#blobs.create(name));
    try {
      // Another process may still write to its file: this one gets a file of its own.
      if (!isKnown) await copy(kept, blob, hash);
      if (hash.copy().digest("hex") !== upload_sha256)
        throw new HubError(409, "upload_differs", "What the hub has kept of the upload is not what was sent.");
      if (!isKnown) await this.#forget(kept.path);
      this.#digests.delete(kept.path);
      return { blob, hash };
    } catch (error) {
      await blob[Symbol.asyncDispose]();
      await this.#forget(kept.path);
      throw error;
    }
  }

  async #keep({ owner, mayKeep }: Bringing, blob: IncomingBlob, hash: Hash): Promise<void> {
    if (blob.size === 0) return;
    const { path, size: bytes } = blob;
    await blob.keep();
    this.#digests.set(path, { hash, bytes });
    const [eldest] = this.#digests.keys();
    if (this.#digests.size > MOST_DIGESTS) this.#digests.delete(eldest!);
    let total = 0;
    let count = 0;
    const newestFirst = (await this.#blobs.kept(ownersPrefix(owner))).toSorted((a, b) => b.since - a.since);
    for (const kept of newestFirst) {
      total += kept.bytes;
      if (++count > MOST_OF_OWNER || total > this.#maxBytes) {
        total -= kept.bytes;
        await this.#forget(kept.path);
      }
    }
    try {
      await mayKeep(total);
    } catch (error) {
      // A database that is away decides nothing; the publication itself needs it.
      if (error instanceof HubError) await this.#forget(path);
    }
  }

  /** Finds the file of an upload; the largest, where a crash has left several. */
  async #find(name: string): Promise<KeptFile | undefined> {
    return (await this.#blobs.kept(name)).toSorted((a, b) => b.bytes - a.bytes)[0];
  }

  async #forget(path: string): Promise<void> {
    this.#digests.delete(path);
    await this.#blobs.forget(path);
  }
}

/** Copies the bytes that a file had when it was found. */
async function copy({ path, bytes }: KeptFile, blob: IncomingBlob, hash: Hash): Promise<void> {
  await using file = await open(path, "r");
  for await (const chunk of readChunks(file, undefined, { range: { start: 0, end: bytes - 1 } })) {
    hash.update(chunk);
    await blob.write(Buffer.from(chunk));
    countBuffered(chunk.length);
    await uploadTurns.take(chunk.length);
  }
}
