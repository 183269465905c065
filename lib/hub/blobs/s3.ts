import { createReadStream } from "node:fs";
import { access, constants, mkdir, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadBucketCommand,
  paginateListObjectsV2,
  PutObjectCommand,
  S3Client,
  S3ServiceException,
} from "@aws-sdk/client-s3";
import { Upload } from "@aws-sdk/lib-storage";
import { getSignedUrl } from "@aws-sdk/s3-request-presigner";
import { usageError } from "../../contract/errors.ts";
import { paceBuffers } from "../../support/buffer-pacing.ts";
import { countBuffered } from "../buffer-collection.ts";
import { storageError } from "../storage-error.ts";
import { IncomingFile } from "./incoming-file.ts";
import type { Blobs, ByteRange, IncomingBlob } from "./port.ts";
import type { S3Location } from "./s3-location.ts";

/** Beside the blobs: says which database they belong to. */
const OWNER_KEY = "sealift-database";
/** Ids of records. Whatever else lies in the bucket is not ours to remove. */
const BLOB_ID = /^[a-z]{3}_[0-9a-f]{32}$/;
/** The smallest part of an upload that S3 takes: parts are held in memory, and two at once need 20 MB more for no gain in time. Bytes. */
const PART_BYTES = 5 * 1024 * 1024;
const PARTS_AT_ONCE = 1;
/** S3 takes no more parts of one object; those of larger ones are larger. */
const MAX_PARTS = 10_000;
/** A part is found in use by two young collections while it is sent: only a full one frees it. All uploads share one heap. */
const countPart = paceBuffers({ fullEvery: 2, intervalBytes: PART_BYTES });
const CONNECT_TIMEOUT_MS = 10_000;
const SILENCE_TIMEOUT_MS = 60_000;

/** The bytes of an answer, counted as they are let go of; its connection ends with whoever reads it. */
async function* counted(body: Readable): AsyncGenerator<Buffer> {
  for await (const chunk of body as AsyncIterable<Buffer>) {
    yield chunk;
    countBuffered(chunk.length);
  }
}

/** What is told of a failed call: S3's own name for it, and never its request, which is signed. */
function failure(doing: string, error: unknown): Error {
  const { name, message } = error as Error;
  return new Error(`The object storage failed at ${doing}: ${name}: ${message}`);
}

/**
 * Blobs as objects of a bucket, `<prefix><id>`. What arrives is spooled to a folder of this machine first: its signature and its archive are checked
 * before anything leaves. An upload appears as a whole or not at all. Credentials come from where the SDK looks for them: environment, profile,
 * workload identity.
 */
export class S3Blobs implements Blobs {
  readonly #client: S3Client;
  readonly #location: S3Location;
  readonly #incoming: string;

  /** @param incoming folder of this hub alone, for what is arriving */
  constructor(location: S3Location, incoming: string) {
    this.#location = location;
    this.#incoming = incoming;
    this.#client = new S3Client({
      ...(location.region !== undefined && { region: location.region }),
      ...(location.endpoint !== undefined && { endpoint: location.endpoint }),
      forcePathStyle: location.pathStyle,
      // Storages other than Amazon's do not know the newer checksums. Artifacts have their own, which hosts check.
      requestChecksumCalculation: "WHEN_REQUIRED",
      responseChecksumValidation: "WHEN_REQUIRED",
      requestHandler: { connectionTimeout: CONNECT_TIMEOUT_MS, socketTimeout: SILENCE_TIMEOUT_MS },
    });
  }

  #object(id: string): { Bucket: string; Key: string } {
    return { Bucket: this.#location.bucket, Key: this.#location.prefix + id };
  }

  async prepare(): Promise<void> {
    await mkdir(this.#incoming, { recursive: true, mode: 0o700 });
  }

  async claim(owner: string): Promise<void> {
    const { bucket, prefix } = this.#location;
    let found: string | undefined;
    try {
      found = await this.#claimed(owner);
    } catch (error) {
      const hint =
        "Check --blob-url, and the credentials in the environment (AWS_ACCESS_KEY_ID and so on): they need to list, read, write and delete.";
      throw storageError(`The object storage with the bucket ${bucket}`, error, hint);
    }
    if (found === owner) return;
    const where = `the bucket ${bucket}${prefix === "" ? "" : `, below ${prefix}`}`;
    throw usageError("usage", `Another hub's database has its blobs in ${where}.`, {
      hint: "Give each database a bucket or a prefix of its own: --blob-url s3://bucket/prefix.",
    });
  }

  /** Writes the owner where there is none. @returns the owner */
  async #claimed(owner: string): Promise<string | undefined> {
    const object = this.#object(OWNER_KEY);
    const found = await this.#text(object);
    if (found !== undefined) return found;
    try {
      await this.#client.send(new PutObjectCommand({ ...object, Body: owner, IfNoneMatch: "*" }));
    } catch (error) {
      const { name } = error as Error;
      // A storage without conditions: of two hubs at the same moment the last one wins, and the other one reads so.
      if (name === "NotImplemented") await this.#client.send(new PutObjectCommand({ ...object, Body: owner }));
      // Another hub was faster.
      else if (name !== "PreconditionFailed" && name !== "ConditionalRequestConflict") throw error;
    }
    return this.#text(object);
  }

  async #text(object: { Bucket: string; Key: string }): Promise<string | undefined> {
    try {
      const { Body } = await this.#client.send(new GetObjectCommand(object));
      return await Body!.transformToString();
    } catch (error) {
      if ((error as Error).name === "NoSuchKey") return undefined;
      throw error;
    }
  }

  create(): Promise<IncomingBlob> {
    return IncomingFile.create(this.#incoming, (path, id) => this.#upload(path, id));
  }

  async #upload(path: string, id: string): Promise<void> {
    const { size } = await stat(path);
    const body = createReadStream(path, { highWaterMark: 1024 * 1024 });
    try {
      const upload = new Upload({
        client: this.#client,
        params: { ...this.#object(id), Body: body, ContentType: "application/octet-stream" },
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
    const part = range === undefined ? {} : { Range: `bytes=${range.start}-${range.end}` };
    try {
      const { Body } = await this.#client.send(new GetObjectCommand({ ...this.#object(id), ...part }));
      return Readable.from(counted(Body as Readable), { objectMode: false, highWaterMark: 512 * 1024 });
    } catch (error) {
      if (!(error instanceof S3ServiceException) || error.name !== "NoSuchKey") throw failure("a download", error);
      throw Object.assign(new Error(`There is no object ${this.#object(id).Key}.`), { code: "ENOENT" });
    }
  }

  async directUrl(id: string, lifetimeMs: number): Promise<string | undefined> {
    if (!this.#location.direct) return undefined;
    return getSignedUrl(this.#client, new GetObjectCommand(this.#object(id)), {
      expiresIn: Math.floor(lifetimeMs / 1000),
    });
  }

  async remove(id: string): Promise<void> {
    try {
      await this.#client.send(new DeleteObjectCommand(this.#object(id)));
    } catch (error) {
      throw failure("a removal", error);
    }
  }

  async check(): Promise<void> {
    await access(this.#incoming, constants.W_OK);
    try {
      await this.#client.send(new HeadBucketCommand({ Bucket: this.#location.bucket }));
    } catch (error) {
      throw failure(`the bucket ${this.#location.bucket}`, error);
    }
  }

  async sweep(isKnown: (ids: string[]) => Promise<Set<string>>, minAgeMs: number): Promise<{ removed: number }> {
    const before = Date.now() - minAgeMs;
    let removed = 0;
    for (const name of await readdir(this.#incoming)) {
      const path = join(this.#incoming, name);
      if ((await stat(path)).mtimeMs > before) continue;
      await rm(path);
      removed++;
    }
    const { bucket: Bucket, prefix: Prefix } = this.#location;
    try {
      for await (const { Contents = [] } of paginateListObjectsV2({ client: this.#client }, { Bucket, Prefix })) {
        const old = Contents.filter(({ LastModified }) => LastModified!.getTime() <= before);
        const ids = old.map(({ Key }) => Key!.slice(Prefix.length)).filter((id) => BLOB_ID.test(id));
        const known = ids.length === 0 ? new Set() : await isKnown(ids);
        for (const id of ids) {
          if (known.has(id)) continue;
          await this.remove(id);
          removed++;
        }
      }
    } catch (error) {
      throw failure("listing the bucket", error);
    }
    return { removed };
  }
}
