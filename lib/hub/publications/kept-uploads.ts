import { createHash, type Hash } from "node:crypto";
import { open } from "node:fs/promises";
import { basename } from "node:path";
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
  /**
   * Decides whether bytes may be kept.
   *
   * @param bytes kept for the target
   * @param ownersBytes kept for all targets of the owner
   * @throws HubError when they may not
   */
  mayKeep: (bytes: number, ownersBytes: number) => Promise<void>;
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
const targetsPrefix = ({ owner, targetId }: UploadPlace): string =>
  `${ownersPrefix(owner)}${hex(owner, targetId).slice(0, 32)}-`;
const nameOf = (place: UploadPlace, id: string): string =>
  `${targetsPrefix(place)}${hex(place.owner, place.targetId, id).slice(0, 48)}`;
/** Returns the owner's part of a file's name. */
const ownersPart = ({ path }: KeptFile): string => basename(path).split("-")[0]!;

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
   * Starts an upload, or continues one. Reads kept bytes again unless this process has hashed them. A start ends the
   * request that brings the same upload, whose connection may be dead; whoever continues has asked for the offset.
   *
   * @throws HubError 409 while another request brings it, or when its kept bytes are not those at the offset; 404 when
   *   nothing is kept
   */
  async begin(bringing: Bringing, asked: AskedUpload): Promise<ArrivingFile> {
    const name = nameOf(bringing, asked.upload_id);
    for (let other = this.#active.get(name); other !== undefined; other = this.#active.get(name)) {
      if (other.isWhole || asked.upload_offset !== undefined)
        throw new HubError(409, "upload_busy", "Another request brings this upload, or goes on with it.");
      other.giveWay();
      await other.settled;
    }
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
    // Another process still writes to its file: this one gets a file of its own.
    const blob = await (kept.grows ? this.#blobs.create(name) : this.#blobs.reopen(kept.path));
    if (blob === undefined) throw unknownUpload();
    try {
      if (kept.grows) await copy(kept, blob, hash);
      else if (!isKnown) await hashed(blob, hash);
      if (blob.size !== kept.bytes || hash.copy().digest("hex") !== upload_sha256)
        throw new HubError(409, "upload_differs", "What the hub has kept of the upload is not what was sent.");
      this.#digests.delete(kept.path);
      // A crash may have left several.
      for (const { path } of await this.#blobs.kept(name)) await this.#forget(path);
      return { blob, hash };
    } catch (error) {
      await blob[Symbol.asyncDispose]();
      await this.#forget(kept.path);
      throw error;
    }
  }

  async #keep(bringing: Bringing, blob: IncomingBlob, hash: Hash): Promise<void> {
    if (blob.size === 0) return;
    const { size: bytes } = blob;
    // Best effort: where the disk has no room for the last bytes, nothing is kept, and the cut is answered as such.
    const path = await blob.keep().catch(() => undefined);
    if (path === undefined) return;
    this.#digests.set(path, { hash, bytes });
    const [eldest] = this.#digests.keys();
    if (this.#digests.size > MOST_DIGESTS) this.#digests.delete(eldest!);
    const total = bytesOf(await this.#trim(ownersPrefix(bringing.owner)));
    const ofTarget = (await this.#blobs.kept(targetsPrefix(bringing))).filter(({ grows }) => !grows);
    try {
      await bringing.mayKeep(bytesOf(ofTarget), total);
    } catch (error) {
      // A database that is away decides nothing; the publication itself needs it.
      if (error instanceof HubError) await this.#forget(path);
    }
  }

  /**
   * Removes what is kept beyond the limits of its owner, such as what a killed process has left.
   *
   * @param isAlone whether no other process writes to this storage
   */
  async trim(isAlone: boolean): Promise<void> {
    await this.#trim("", isAlone);
  }

  /** @param prefix of the names of one owner's files, or of all @returns what stays */
  async #trim(prefix: string, isAlone = false): Promise<KeptFile[]> {
    const stays: KeptFile[] = [];
    // Files that grow have other names: what is removed here was renamed in time if somebody goes on with it.
    const kept = (await this.#blobs.kept(prefix)).filter(({ grows }) => !grows || isAlone);
    for (const ofOwner of Map.groupBy(kept, ownersPart).values()) {
      let total = 0;
      for (const [index, file] of ofOwner.toSorted((a, b) => b.since - a.since).entries()) {
        total += file.bytes;
        if (index < MOST_OF_OWNER && total <= this.#maxBytes) stays.push(file);
        else {
          total -= file.bytes;
          await this.#forget(file.path);
        }
      }
    }
    return stays;
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

const bytesOf = (files: readonly KeptFile[]): number => files.reduce((sum, { bytes }) => sum + bytes, 0);

/** Adds the bytes of a file that is continued to a digest. */
async function hashed(blob: IncomingBlob, hash: Hash): Promise<void> {
  for await (const chunk of blob.readBack()) {
    hash.update(chunk);
    await uploadTurns.take(chunk.length);
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
