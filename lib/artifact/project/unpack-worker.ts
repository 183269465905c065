/**
 * The second thread of an opening artifact: zstd → tar → files with their digests. It is given the plaintext that is still
 * unauthenticated and writes to the staging folder only. `unpacker.ts` is its other end.
 */
import { Transform, type TransformCallback, Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { parentPort, workerData } from "node:worker_threads";
import { constants, createZstdDecompress } from "node:zlib";
import { artifactError, asSealiftError, SealiftError } from "../../contract/errors.ts";
import { paceBuffers } from "../../support/buffer-pacing.ts";
import { type Limits, RATIO_FREE_BYTES } from "../limits.ts";
import { exceeded } from "../tree/safe-path.ts";
import { writeTreeList } from "../tree/tree-list.ts";
import { TreeWriter } from "../tree/tree-writer.ts";
import { TarReader } from "./tar-reader.ts";
import type { FromWorker, ToWorker } from "./unpacker.ts";
import { FrameWalker, MAX_WINDOW_LOG } from "./zstd-frame.ts";

const port = parentPort!;
const { folder, limits } = workerData as { folder: string; limits: Limits };
const tell = (message: FromWorker): void => port.postMessage(message);

const tree = new TreeWriter(folder, limits);

/** Hands whole batches to the pipeline and gives credit back when the decoder has taken them. */
class Input extends Transform {
  readonly walker = new FrameWalker();
  compressed = 0;

  constructor() {
    super({ highWaterMark: 256 * 1024 });
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, callback: TransformCallback): void {
    try {
      this.compressed += chunk.length;
      this.walker.push(chunk);
      callback(null, chunk);
    } catch (error) {
      callback(error as Error);
    }
  }

  override _flush(callback: TransformCallback): void {
    try {
      this.walker.end();
      callback();
    } catch (error) {
      callback(error as Error);
    }
  }
}

const input = new Input();
const decoder = createZstdDecompress({
  chunkSize: 256 * 1024,
  params: { [constants.ZSTD_d_windowLogMax]: MAX_WINDOW_LOG },
});

const archive = new TarReader(tree);

/**
 * Counts what comes out and hands it to the tar parser on the next turn of the event loop: by then the decoder has started on
 * the following bytes in the thread pool, so decoding goes on while this thread hashes and writes.
 */
class Output extends Writable {
  produced = 0;
  readonly #pace = paceBuffers();

  constructor() {
    super({ highWaterMark: 256 * 1024 });
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: (error?: Error | null) => void): void {
    this.produced += chunk.length;
    this.#pace(chunk.length);
    const declared = input.walker.header!.contentSize;
    if (this.produced > RATIO_FREE_BYTES && this.produced > input.compressed * limits.maxRatio) {
      callback(exceeded(`The archive unpacks to more than ${limits.maxRatio} times its size.`, "--max-ratio"));
      return;
    }
    if (this.produced > declared) {
      callback(artifactError("zstd_invalid", "The artifact's content is longer than its frame says."));
      return;
    }
    setImmediate(() => callback(attempt(() => archive.push(chunk))));
  }

  override _final(callback: (error?: Error | null) => void): void {
    if (this.produced !== input.walker.header?.contentSize) {
      callback(artifactError("zstd_invalid", "The artifact's content is shorter than its frame says."));
      return;
    }
    callback(attempt(() => archive.end()));
  }
}

/** Hands an error that a synchronous stage throws to its stream. */
function attempt(stage: () => void): Error | null {
  try {
    stage();
    return null;
  } catch (error) {
    return error as Error;
  }
}

const output = new Output();

function explain(error: unknown): SealiftError {
  if (error instanceof SealiftError) return error;
  const { code, message } = error as NodeJS.ErrnoException;
  if (code?.startsWith("ZSTD_") === true) {
    return artifactError("zstd_invalid", `The artifact's content cannot be decompressed: ${message}.`, {
      cause: error,
    });
  }
  if (code === "ENAMETOOLONG" || code === "EEXIST" || code === "EILSEQ") {
    return artifactError("member_unsafe", `This file system cannot hold a member: ${message}.`, { cause: error });
  }
  return asSealiftError(error, "ArtifactError");
}

port.on("message", (message: ToWorker) => {
  switch (message.type) {
    case "chunks": {
      const bytes = message.chunks.reduce((sum, chunk) => sum + chunk.length, 0);
      const buffers = message.chunks.map((chunk) => Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length));
      buffers.forEach((buffer, index) => {
        const last = index === buffers.length - 1;
        input.write(buffer, () => {
          if (last) tell({ type: "taken", bytes, unpacked: tree.bytes });
        });
      });
      break;
    }
    case "end":
      input.end();
      break;
    case "digest":
      tell({
        type: "digest",
        content: tree.files.digest((path) => path !== message.except),
        folders: Object.fromEntries(message.folders.map((name) => [name, tree.files.digestOfFolder(name) ?? null])),
      });
      break;
    case "list": {
      const entries = tree.list().filter(({ path }) => path !== message.except);
      const error = attempt(() => writeTreeList(message.file, entries));
      tell({ type: "listed", error: error?.message ?? null });
      break;
    }
  }
});

pipeline(input, decoder, output).then(
  () => tell({ type: "unpacked", entries: tree.entries, files: tree.files.size, bytes: tree.bytes }),
  (error: unknown) => {
    tree.close();
    const { kind, code, message, hint } = explain(error);
    tell({ type: "failed", error: { kind, code, message, ...(hint !== undefined && { hint }) } });
  },
);
