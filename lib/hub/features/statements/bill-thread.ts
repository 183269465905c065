import { once } from "node:events";
import PQueue from "p-queue";
import { type BillFacts, readBill } from "../../../artifact/statements/bill.ts";
import { artifactError } from "../../../contract/errors.ts";
import { startThread } from "../../../support/thread.ts";
import type { IncomingBlob } from "../../blobs/port.ts";
import { byTurns } from "../../publications/upload-turns.ts";

/** Facts of an SBOM, or why it is not usable. */
export type BillAnswer = { facts: BillFacts } | { invalid: string };

/** Largest SBOM that is read between requests, in bytes: even `[]` in a row takes milliseconds a turn. */
const SMALL_BYTES = 256 * 1024;

/** Turns of large SBOMs: each is held whole, and takes a processor for seconds where it has millions of values. */
const turns = new PQueue({ concurrency: 1 });

/**
 * Reads the facts of an uploaded SBOM: a large one on a thread, so that no request waits for it.
 *
 * @throws ArtifactError `statement_invalid`
 */
export async function billFacts(blob: IncomingBlob): Promise<BillFacts> {
  if (blob.size <= SMALL_BYTES) return readBill(byTurns(blob.readBack()));
  const answer = await turns.add(() => answerOfThread(blob));
  if ("facts" in answer) return answer.facts;
  throw artifactError("statement_invalid", answer.invalid);
}

async function answerOfThread(blob: IncomingBlob): Promise<BillAnswer> {
  const chunks: Uint8Array[] = [];
  // The next piece may come in the memory of this one.
  for await (const chunk of blob.readBack()) chunks.push(Buffer.from(chunk));
  const worker = startThread(import.meta.url, "bill-worker", Buffer.concat(chunks));
  const ended = new AbortController();
  worker.once("exit", () => ended.abort(new Error("the thread that reads an SBOM ended early")));
  try {
    const [answer] = (await once(worker, "message", { signal: ended.signal })) as [BillAnswer];
    return answer;
  } catch (error) {
    throw ended.signal.aborted ? ended.signal.reason : error;
  } finally {
    await worker.terminate();
  }
}
