import { statfs } from "node:fs/promises";
import { isAnswer, isFast, isSlow, type KeptBytes, type KeptRange, type Progress } from "../../client/kept-bytes.ts";
import type { KeptArchive } from "../../client/marketplace-client.ts";
import { asSealiftError } from "../../contract/errors.ts";
import { dropPartial, hasPartial, keptEtag, PartialFile } from "../../releases/partial.ts";
import { writeFault } from "../../support/files.ts";
import type { FetchContext } from "./source.ts";

/** Bytes written between two looks at the free space of the disk. */
const LOOK_BYTES = 1024 * 1024;
/** Bytes of a tree on the disk for each byte of its artifact, as `ahead.ts` counts them, too. */
const TREE_FACTOR = 2;

/** Circumstances of a download. */
interface Circumstances {
  /** Signature of its bytes: only the same ones are taken from an earlier run. */
  signature: string;
  /** Size of the artifact whose tree is made after the download, in bytes; undefined where it is made meanwhile. */
  unpacksLater?: number | undefined;
  /** Whether the download is also written to the disk in full, as an archive is. */
  isWritten: boolean;
}

/**
 * Bytes of one version's download that outlive an interruption of this run. They are written only where the download
 * is slow, and only as long as the disk has room for what the deployment needs. Nothing is believed of them: they are
 * verified with all the others, and if that fails they go, and the hub's are fetched.
 */
export class KeptDownload implements KeptArchive {
  readonly #context: Pick<FetchContext, "layout" | "target" | "emit">;
  readonly #version: string;
  #of: Circumstances = { signature: "", isWritten: false };
  #file: PartialFile | undefined;
  /** Range of an earlier run; undefined where there is none any more. */
  #range: KeptRange | undefined;
  /** Whether this attempt turned out to be fast: what it has kept stays, and it adds nothing more. */
  #isFast = false;
  /** Whether this run keeps nothing any more: there is no room, or no place. */
  #isOver = false;
  #unlooked = LOOK_BYTES;
  #usedBytes = 0;
  /** Identity of the attempt under way. */
  #attempt: object | undefined;
  /** Piece being written. It never rejects. */
  #writing: Promise<void> | undefined;
  #lost: unknown;
  /** Whether this attempt asked for a part of the download, since an earlier run has kept one. */
  #asksPart = false;
  /** Why the server refused a part: the whole is asked for, and once it comes, what is kept goes. */
  #refusal: unknown;
  /** Whether this run has kept or used anything that a full disk may want back. */
  #tookRoom = false;

  constructor(version: string, context: Pick<FetchContext, "layout" | "target" | "emit">) {
    this.#version = version;
    this.#context = context;
  }

  /** Bytes of this download that did not come over the network. */
  get usedBytes(): number {
    return this.#usedBytes;
  }

  /** Tells whether kept bytes of this version are to be used, and drops those of another one. */
  async isThere(): Promise<boolean> {
    if (this.#refusal !== undefined) return false;
    return (this.#asksPart = (await this.signature()) !== undefined);
  }

  /** Returns the signature of the kept bytes; undefined for none. Drops those of another version. */
  async signature(): Promise<string | undefined> {
    const { layout, target } = this.#context;
    await using file = await PartialFile.open(layout, target);
    if (file?.header.version === this.#version) return file.header.signature;
    await dropPartial(layout, target).catch(() => {});
    return undefined;
  }

  of(signature: string, archiveBytes = 0): KeptBytes {
    return this.for({ signature, unpacksLater: archiveBytes, isWritten: true });
  }

  /** Begins an attempt at a download. A piece that arrives after its end is not kept. */
  for(circumstances: Circumstances): KeptBytes {
    this.#of = circumstances;
    this.#isFast = false;
    this.#usedBytes = 0;
    this.#lost = undefined;
    const attempt = (this.#attempt = {});
    const isUnderWay = (): boolean => this.#attempt === attempt;
    return {
      isRefused: this.#refusal !== undefined,
      find: () => this.#find(),
      read: (range) => this.#read(range),
      take: (piece, at, progress) => (isUnderWay() ? this.#take(piece, at, progress) : undefined),
      refuse: async (why) => {
        this.#tellUnusable(why);
        await this.drop();
      },
      lost: (why) => {
        if (isUnderWay()) this.#lost = why;
      },
    };
  }

  async #find(): Promise<KeptRange | undefined> {
    await this.#close();
    if (this.#refusal !== undefined) return (this.#range = undefined);
    const { layout, target } = this.#context;
    const file = await PartialFile.open(layout, target);
    if (file === undefined || file.header.signature !== this.#of.signature) {
      await file?.[Symbol.asyncDispose]();
      await dropPartial(layout, target).catch(() => {});
      return (this.#range = undefined);
    }
    this.#file = file;
    this.#asksPart = this.#tookRoom = true;
    const { from, size, etag } = file.header;
    return (this.#range = { from, end: file.end, size, etag: etag ?? undefined });
  }

  async *#read({ from, end }: KeptRange): AsyncGenerator<Buffer> {
    const { emit } = this.#context;
    const { header } = this.#file ?? {};
    if (header === undefined) return;
    const version = this.#version;
    emit({ event: "partial.used", version, bytes: end - from, size_bytes: header.size });
    try {
      for await (const piece of this.#file!.read(from, end)) {
        this.#usedBytes += piece.length;
        yield piece;
      }
    } catch {
      // A fault of the disk: the rest comes from the network.
    }
  }

  #take(piece: Buffer, at: number, progress: Progress): Promise<void> | undefined {
    const { size, etag } = progress;
    if (this.#refusal !== undefined) return (this.#writing = this.#giveUp(this.#refusal));
    if (this.#isOver || size === undefined) return undefined;
    if (this.#file === undefined && (at === 0 || !isSlow(size - at, progress))) return undefined;
    this.#isFast ||= isFast(size, progress);
    return (this.#writing = this.#keep(piece, at, size, etag));
  }

  /**
   * Judges the failure of an attempt, before any other source is blamed for it. Bytes that could not be verified go,
   * and so do all of them where the disk is full. Where the server has refused a part they are left aside, and go once
   * it sends the whole: they would be refused again in each run. A network that is away costs none of them.
   *
   * @param isVerified whether the signature of the bytes was verified
   * @returns whether the same attempt without kept bytes is due
   */
  async judge(thrown: unknown, isVerified: boolean): Promise<boolean> {
    // What fails before the bytes are asked for is the hub's answer about them.
    const lost = this.#attempt === undefined ? thrown : this.#lost;
    const asksPart = this.#asksPart;
    this.#asksPart = false;
    await this.#endAttempt();
    if (asSealiftError(thrown).code === "disk_full") return this.#givesRoom(thrown);
    if (isVerified) return false;
    if (lost !== undefined && asSealiftError(lost).code !== "artifact_changed") {
      const isDue = asksPart && isAnswer(lost);
      if (isDue) this.#refusal = lost;
      return isDue;
    }
    const isDue = this.#usedBytes > 0;
    if (isDue) this.#tellUnusable(thrown);
    await this.drop();
    return isDue;
  }

  /** Gives a full disk the room back, and ends the keeping. Returns whether there was any to give. */
  async #givesRoom(thrown: unknown): Promise<boolean> {
    const { layout, target } = this.#context;
    const tookRoom = this.#tookRoom || (await hasPartial(layout, target).catch(() => false));
    this.#tookRoom = false;
    this.#isOver = true;
    if (tookRoom) this.#tellUnusable(thrown);
    await this.drop();
    return tookRoom;
  }

  /** Drops what the server does not go on with. */
  async #giveUp(refusal: unknown): Promise<void> {
    this.#refusal = undefined;
    this.#tellUnusable(refusal);
    await this.drop();
  }

  /**
   * Ends the attempts. Bytes that came before an interruption stay, and an event says so. Those of a download that was
   * verified stay until the version runs, as far as the disk has the room: it may be fetched once more.
   */
  async end(isVerified: boolean): Promise<void> {
    await this.#endAttempt();
    this.#refusal = undefined;
    const file = this.#file;
    if (file === undefined) return;
    const { size, from } = file.header;
    const bytes = file.end - from;
    const { unpacksLater = size } = this.#of;
    if (!isVerified) this.#context.emit({ event: "partial.kept", version: this.#version, bytes, size_bytes: size });
    if (isVerified && !(await this.#hasRoom(TREE_FACTOR * unpacksLater).catch(() => false))) await this.drop();
    await this.#close();
  }

  /** Drops the bytes, whatever they are. */
  async drop(): Promise<void> {
    this.#range = undefined;
    await this.#close();
    await dropPartial(this.#context.layout, this.#context.target).catch(() => {});
  }

  /** The reader of a stream may have asked for more of it than it takes. */
  async #endAttempt(): Promise<void> {
    this.#attempt = undefined;
    await this.#writing;
  }

  async #keep(piece: Buffer, at: number, size: number, etag: string | undefined): Promise<void> {
    const { layout, target } = this.#context;
    try {
      this.#unlooked += piece.length;
      if (this.#unlooked >= LOOK_BYTES) {
        this.#unlooked = 0;
        const rest = size - at;
        const { unpacksLater = rest, isWritten } = this.#of;
        const needed = rest + (isWritten ? rest : 0) + TREE_FACTOR * unpacksLater;
        if (!(await this.#hasRoom(needed)))
          return await this.#endKeeping("the disk has no room for them beside what the deployment needs");
      }
      if (this.#isFast) return;
      this.#tookRoom = true;
      this.#file ??= await PartialFile.create(layout, target, {
        ...{ v: 1, version: this.#version, signature: this.#of.signature, size, etag: keptEtag(etag), from: at },
        at: new Date().toISOString(),
      });
      await this.#file.write(piece, at);
      const { from = 0 } = this.#range ?? {};
      if (at + piece.length === from && from > 1) await this.#file.closeGap();
    } catch (error) {
      await this.#endKeeping(writeFault(error));
    }
  }

  /** Ends the keeping, and gives its room back. The download goes on. */
  async #endKeeping(why: string): Promise<void> {
    this.#isOver = true;
    await this.drop();
    const message = `The bytes of this slow download are not kept for another run: ${why}.`;
    this.#context.emit({ event: "warning", message });
  }

  async #hasRoom(bytes: number): Promise<boolean> {
    const { bavail, bsize } = await statfs(this.#context.layout.sealift);
    return bytes <= bavail * bsize;
  }

  #tellUnusable(thrown: unknown): void {
    const { code, message: reason } = asSealiftError(thrown, "ArtifactError");
    this.#context.emit({ event: "partial.unusable", version: this.#version, code, reason });
  }

  async #close(): Promise<void> {
    const file = this.#file;
    this.#file = undefined;
    this.#unlooked = LOOK_BYTES;
    await file?.[Symbol.asyncDispose]().catch(() => {});
  }
}

/** Returns the field of `fetch.done` for bytes that did not come over the network; none where all did. */
export const keptBytes = (kept: KeptDownload | undefined): { kept_bytes?: number } =>
  kept === undefined || kept.usedBytes === 0 ? {} : { kept_bytes: kept.usedBytes };
