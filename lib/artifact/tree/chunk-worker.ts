/**
 * A second thread of a publication: cuts large files into chunks while the first one packs them. `chunk-thread.ts` is
 * its other end. It is a plain loop that ends with the ring.
 */
import { parentPort, workerData } from "node:worker_threads";
import { readRing, type Ring } from "../project/ring.ts";
import { Chunker, ChunkList } from "./chunks.ts";

/** The data that the thread is started with. */
export interface ChunkWorkerData {
  /** The sizes of the files whose bytes come, one behind the other. None is empty. */
  sizes: readonly number[];
  ring: Ring;
}

const { sizes, ring } = workerData as ChunkWorkerData;
const lists: ChunkList[] = [];
let list = new ChunkList();
let left = sizes[0]!;
const chunker = new Chunker((length, digest) => list.push(length, digest));

readRing(ring, (bytes) => {
  for (let at = 0; at < bytes.length;) {
    const piece = bytes.subarray(at, at + left);
    chunker.update(piece);
    at += piece.length;
    left -= piece.length;
    if (left > 0) continue;
    chunker.end();
    lists.push(list);
    list = new ChunkList();
    left = sizes[lists.length] ?? 0;
  }
});
const records = lists.map((found) => Uint8Array.from(found.toBuffer()));
parentPort!.postMessage(
  records,
  records.map(({ buffer }) => buffer),
);
