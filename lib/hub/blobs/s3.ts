import { open, rm } from "node:fs/promises";
import { Readable } from "node:stream";
import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadBucketCommand,
  HeadObjectCommand,
  paginateListObjectsV2,
  PutObjectCommand,
  S3Client,
} from "@aws-sdk/client-s3";
import { Upload } from "@aws-sdk/lib-storage";
import { getSignedUrl } from "@aws-sdk/s3-request-presigner";
import { paceBuffers } from "../../support/buffer-pacing.ts";
import type { ByteRange } from "../../support/network/byte-ranges.ts";
import { countBuffered } from "../base/buffer-collection.ts";
import { blobName, isBlobId } from "../base/identity.ts";
import { StorageError, storageError } from "../base/storage-error.ts";
import { IncomingFolder } from "./incoming-folder.ts";
import type { BlobEntry, Blobs, IncomingBlob, KeptFile } from "./port.ts";
import type { S3Location } from "./s3-location.ts";

/** Object beside the blobs that names the database they belong to. */
const OWNER_KEY = "sealift-database";
/** Prefix of blobs in the trash. */
const TRASH = "trash/";
/** Bytes of an upload's part: S3's minimum. Two parts at a time would take 20 MB more and gain no time. */
const PART_BYTES = 5 * 1024 * 1024;
const PARTS_AT_ONCE = 1;
/** Most parts of one object that S3 accepts; larger objects get larger parts. */
const MAX_PARTS = 10_000;
/** Paces garbage collection for parts of uploads, which share one heap. */
const countPart = paceBuffers("parts");
const CONNECT_TIMEOUT_MS = 3000;
const SILENCE_TIMEOUT_MS = 20_000;
/** Attempts of a request: one, and one retry. */
const MAX_ATTEMPTS = 2;

/** Streams the body of an answer, and counts the bytes as they are released. Its connection ends with its reader. */
async function* counted(body: Readable): AsyncGenerator<Buffer> {
  for await (const chunk of body as AsyncIterable<Buffer>) {
    yield chunk;
    countBuffered(chunk.length);
  }
}

/** Describes a failed call by S3's own name for it, never by its request, which is signed. */
function failure(doing: string, error: unknown): Error {
  const { name, message, $metadata } = error as Error & { $metadata?: { httpStatusCode?: number } };
  const status = $metadata?.httpStatusCode ?? 0;
  // The storage would answer the same again: wrong or expired credentials, no right, no bucket.
  const isRefused = status >= 400 && status < 500 && status !== 408 && status !== 429;
  return new StorageError(isRefused ? "refused" : "away", `The object storage failed at ${doing}: ${name}: ${message}`);
}

const isMissing = (error: unknown): boolean => ["NoSuchKey", "NotFound"].includes((error as Error).name);

/**
 * Blobs as objects `<prefix><id>` of a bucket. Uploads are spooled locally until they have been checked. The SDK finds
 * the credentials: environment, profile, workload identity.
 */
export class S3Blobs implements Blobs {
  readonly #client: S3Client;
  readonly #location: S3Location;
  readonly name: string;
  readonly #incoming: IncomingFolder;
  #isClosed = false;

  /** @param incoming folder for uploads, of this hub alone */
  constructor(location: S3Location, incoming: string) {
    const { bucket, prefix } = location;
    this.name = `the bucket ${bucket}${prefix === "" ? "" : `, below ${prefix}`}`;
    this.#location = location;
    this.#incoming = new IncomingFolder(incoming);
    this.#client = new S3Client({
      ...(location.region !== undefined && { region: location.region }),
      ...(location.endpoint !== undefined && { endpoint: location.endpoint }),
      forcePathStyle: location.pathStyle,
      // Storages other than Amazon's do not support the newer checksums. Artifacts have their own, which hosts verify.
      requestChecksumCalculation: "WHEN_REQUIRED",
      responseChecksumValidation: "WHEN_REQUIRED",
      maxAttempts: MAX_ATTEMPTS,
      requestHandler: { connectionTimeout: CONNECT_TIMEOUT_MS, socketTimeout: SILENCE_TIMEOUT_MS },
    });
    // Inside the SDK's own retry, which would otherwise open new connections for calls that lost theirs.
    this.#client.middlewareStack.add(
      (next) => (call) => {
        if (this.#isClosed) throw new StorageError("away", "the hub is closing");
        return next(call);
      },
      { step: "finalizeRequest", priority: "low", name: "refuseWhenClosed" },
    );
  }

  #object(key: string): { Bucket: string; Key: string } {
    return { Bucket: this.#location.bucket, Key: this.#location.prefix + key };
  }

  #blob(id: string): { Bucket: string; Key: string } {
    return this.#object(blobName(id));
  }

  prepare(): Promise<void> {
    return this.#incoming.prepare();
  }

  owner(): Promise<string | undefined> {
    return this.#starting(() => this.#text(this.#object(OWNER_KEY)));
  }

  claim(owner: string): Promise<string | undefined> {
    return this.#starting(async () => {
      const object = this.#object(OWNER_KEY);
      const found = await this.#text(object);
      if (found !== undefined) return found;
      try {
        await this.#client.send(new PutObjectCommand({ ...object, Body: owner, IfNoneMatch: "*" }));
      } catch (error) {
        const { name } = error as Error;
        // A storage without conditional writes: if two hubs claim at the same moment the last one wins, and the other
        // reads that.
        if (name === "NotImplemented") await this.#client.send(new PutObjectCommand({ ...object, Body: owner }));
        // Another hub was faster.
        else if (name !== "PreconditionFailed" && name !== "ConditionalRequestConflict") throw error;
      }
      return this.#text(object);
    });
  }

  /** Runs the first calls, which show whether the storage can be used at all. @throws UsageError when it cannot */
  async #starting<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      const hint =
        "Check --blob-url, and the credentials in the environment (AWS_ACCESS_KEY_ID and so on): they need to list, read, write and delete.";
      throw storageError(`The object storage with the bucket ${this.#location.bucket}`, error, hint);
    }
  }

  async #text(object: { Bucket: string; Key: string }): Promise<string | undefined> {
    try {
      const { Body } = await this.#client.send(new GetObjectCommand(object));
      return await Body!.transformToString();
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }

  create(name?: string): Promise<IncomingBlob> {
    return this.#incoming.create((path, id) => this.#upload(path, id), name);
  }

  reopen(path: string): Promise<IncomingBlob | undefined> {
    return this.#incoming.reopen(path, (from, id) => this.#upload(from, id));
  }

  kept(prefix: string): Promise<KeptFile[]> {
    return this.#incoming.kept(prefix);
  }

  forget(path: string): Promise<void> {
    return rm(path, { force: true });
  }

  async #upload(path: string, id: string): Promise<void> {
    const object = this.#blob(id);
    // Opened before it becomes a stream: a stream discarded before its file is open would crash the hub if the file is
    // gone.
    const file = await open(path);
    const body = file.createReadStream({ highWaterMark: 1024 * 1024 });
    try {
      const { size } = await file.stat();
      const upload = new Upload({
        client: this.#client,
        params: { ...object, Body: body, ContentType: "application/octet-stream" },
        partSize: Math.max(PART_BYTES, Math.ceil(size / MAX_PARTS)),
        queueSize: PARTS_AT_ONCE,
      });
      upload.on("httpUploadProgress", () => countPart(PART_BYTES));
      await upload.done();
    } catch (error) {
      throw failure("an upload", error);
    } finally {
      body.destroy();
      await rm(path, { force: true });
    }
  }

  async read(id: string, range?: ByteRange): Promise<Readable> {
    const object = this.#blob(id);
    const part = range === undefined ? {} : { Range: `bytes=${range.start}-${range.end}` };
    try {
      const { Body } = await this.#client.send(new GetObjectCommand({ ...object, ...part }));
      const body = Body as Readable;
      const stream = Readable.from(counted(body), { objectMode: false, highWaterMark: 512 * 1024 });
      // As for a folder: the generator may never begin, and the connection would stay in use.
      return stream.once("close", () => body.destroy());
    } catch (error) {
      if (!isMissing(error)) throw failure("a download", error);
      throw Object.assign(new Error(`There is no object ${object.Key}.`), { code: "ENOENT" });
    }
  }

  async directUrl(id: string, lifetimeMs: number): Promise<string | undefined> {
    if (!this.#location.direct) return undefined;
    return getSignedUrl(this.#client, new GetObjectCommand(this.#blob(id)), {
      expiresIn: Math.floor(lifetimeMs / 1000),
      // By the storage's clock, as of its last answer: the storage decides whether a URL has expired.
      signingDate: new Date(Date.now() + this.#client.config.systemClockOffset),
    });
  }

  async remove(id: string): Promise<void> {
    await this.#remove(blobName(id));
  }

  async #remove(key: string): Promise<void> {
    try {
      await this.#client.send(new DeleteObjectCommand(this.#object(key)));
    } catch (error) {
      throw failure("a removal", error);
    }
  }

  async size(id: string): Promise<number | undefined> {
    const object = this.#blob(id);
    try {
      const { ContentLength } = await this.#client.send(new HeadObjectCommand(object));
      return ContentLength;
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw failure("a look at an object", error);
    }
  }

  async *list(): AsyncGenerator<BlobEntry> {
    yield* this.#entries(this.#location.prefix);
  }

  /** Moves a blob to the trash. An object cannot be renamed: a marker object records since when it is there. */
  async moveToTrash(id: string): Promise<void> {
    const mark = this.#object(TRASH + blobName(id));
    try {
      await this.#client.send(new PutObjectCommand({ ...mark, Body: "", ContentLength: 0 }));
    } catch (error) {
      throw failure("marking an object", error);
    }
  }

  async takeBack(id: string): Promise<void> {
    await this.#remove(TRASH + blobName(id));
  }

  async *listTrash(): AsyncGenerator<BlobEntry> {
    yield* this.#entries(this.#location.prefix + TRASH);
  }

  async removeFromTrash(id: string): Promise<void> {
    await this.remove(id);
    await this.#remove(TRASH + blobName(id));
  }

  clearIncoming(minAgeMs: number): Promise<number> {
    return this.#incoming.clear(minAgeMs);
  }

  /** Aborts waiting calls: a silent storage would otherwise keep the hub from ending. */
  close(): void {
    this.#isClosed = true;
    this.#client.destroy();
  }

  async check(signal: AbortSignal): Promise<void> {
    await this.#incoming.check();
    try {
      const { bucket: Bucket } = this.#location;
      await this.#client.send(new HeadBucketCommand({ Bucket }), { abortSignal: signal });
    } catch (error) {
      throw failure(`the bucket ${this.#location.bucket}`, error);
    }
  }

  async *#entries(Prefix: string): AsyncGenerator<BlobEntry> {
    const where = { Bucket: this.#location.bucket, Prefix, Delimiter: "/" };
    try {
      for await (const { Contents = [] } of paginateListObjectsV2({ client: this.#client }, where)) {
        for (const { Key, LastModified } of Contents) {
          const id = Key!.slice(Prefix.length);
          if (isBlobId(id)) yield { id, since: LastModified!.getTime() };
        }
      }
    } catch (error) {
      throw failure("listing the bucket", error);
    }
  }
}
