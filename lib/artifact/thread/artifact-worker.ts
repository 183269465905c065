/** Counterpart of `artifact-thread.ts`. Each loop is loaded when it is first needed. */
import { parentPort } from "node:worker_threads";
import { artifactError, asSealiftError, SealiftError } from "../../contract/errors.ts";
import { type FromThread, type Job, plainError } from "./artifact-thread.ts";

const port = parentPort!;
const post = (message: FromThread): void => port.postMessage(message);
const tell = (told: unknown): void => post({ told });

// oxlint-disable-next-line typescript/no-explicit-any -- each loop tells something else
type Loop = (job: never, tell: (told: any) => void) => unknown;

const LOOPS: Readonly<Record<Job["loop"], () => Promise<Loop>>> = {
  unpack: async () => (await import("../project/unpack-loop.ts")).unpackTar,
  unzip: async () => (await import("../zip/unzip.ts")).unzipJob,
  chunks: async () => (await import("../tree/chunk-thread.ts")).cutChunks,
};

function explain(error: unknown): SealiftError {
  if (error instanceof SealiftError) return error;
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === "ENAMETOOLONG" || code === "EEXIST" || code === "EILSEQ")
    return artifactError("member_unsafe", `This file system cannot hold a member: ${message}.`, { cause: error });
  return asSealiftError(error, "ArtifactError");
}

async function carryOut(job: Job): Promise<FromThread> {
  try {
    const loop = await LOOPS[job.loop]();
    return { done: await loop(job as never, tell) };
  } catch (error) {
    return { failed: plainError(explain(error)) };
  }
}

let before: Promise<void> = Promise.resolve();
port.on("message", (job: Job) => {
  before = before.then(async () => post(await carryOut(job)));
});
