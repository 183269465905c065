import { createHash, randomBytes } from "node:crypto";
import fc from "fast-check";
import t from "tap";
import {
  CHUNK_DIGEST_BYTES,
  Chunker,
  ChunkList,
  ChunkTable,
  MAX_CHUNK_BYTES,
  MIN_CHUNK_BYTES,
} from "../../../../lib/artifact/tree/chunks.ts";

/** Cuts content that arrives in blocks of the given sizes, in turn. */
function cut(content: Buffer, blocks: readonly number[] = [content.length || 1]): ChunkList {
  const list = new ChunkList();
  const chunker = new Chunker((length, digest) => list.push(length, digest));
  for (let at = 0, turn = 0; at < content.length; turn++) {
    const size = Math.max(1, blocks[turn % blocks.length]!);
    chunker.update(content.subarray(at, at + size));
    at += size;
  }
  chunker.end();
  return list;
}

const digestsOf = (list: ChunkList): string[] =>
  Array.from({ length: list.count }, (_, index) => list.digestOf(index).toString("hex"));

t.test("chunks join to the content, keep their bounds, and carry the start of their SHA-256", async (t) => {
  const content = randomBytes(3_000_000);
  const list = cut(content);
  t.equal(list.totalBytes(), content.length);
  let offset = 0;
  for (let index = 0; index < list.count; index++) {
    const length = list.lengthOf(index);
    const last = index === list.count - 1;
    if (length > MAX_CHUNK_BYTES || (length < MIN_CHUNK_BYTES && !last)) t.fail(`chunk ${index} has ${length} bytes`);
    const digest = createHash("sha256")
      .update(content.subarray(offset, offset + length))
      .digest();
    if (!digest.subarray(0, CHUNK_DIGEST_BYTES).equals(list.digestOf(index)))
      t.fail(`chunk ${index} has another digest`);
    offset += length;
  }
  const average = content.length / list.count;
  t.ok(average > 10_000 && average < 26_000, `about 16 KiB on average, not ${average}`);
});

t.test("cuts depend on the content, not on the blocks that it arrives in", async (t) => {
  const content = randomBytes(400_000);
  const whole = digestsOf(cut(content));
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 200_000 }), { minLength: 1, maxLength: 6 }), (blocks) => {
      t.strictSame(digestsOf(cut(content, blocks)), whole);
    }),
    { numRuns: 15 },
  );
});

t.test("an insertion changes the chunks around it only", async (t) => {
  const content = randomBytes(2_000_000);
  const before = new Set(digestsOf(cut(content)));
  const edited = Buffer.concat([content.subarray(0, 700_001), Buffer.from("inserted"), content.subarray(700_001)]);
  const fresh = digestsOf(cut(edited)).filter((digest) => !before.has(digest));
  t.ok(fresh.length <= 4, `${fresh.length} chunks are new`);
});

t.test("content without any cut ends its chunks at the limit", async (t) => {
  const list = cut(Buffer.alloc(300_000));
  t.equal(list.lengthOf(0), MAX_CHUNK_BYTES);
  t.equal(list.totalBytes(), 300_000);
  t.equal(cut(Buffer.alloc(0)).count, 0);
});

t.test("a table finds each chunk where it is, and none that is not there", async (t) => {
  const content = randomBytes(1_500_000);
  const list = cut(content);
  const table = new ChunkTable(list);
  let offset = 0;
  for (let index = 0; index < list.count; index++) {
    t.equal(table.offsetOf(list.lengthOf(index), list.digestOf(index)), offset);
    offset += list.lengthOf(index);
  }
  t.equal(table.offsetOf(list.lengthOf(0), randomBytes(CHUNK_DIGEST_BYTES)), undefined);
  t.equal(table.offsetOf(list.lengthOf(0) + 1, list.digestOf(0)), undefined, "the length counts");
  t.equal(new ChunkTable(new ChunkList()).offsetOf(5, randomBytes(CHUNK_DIGEST_BYTES)), undefined, "an empty table");
});

t.test("records that are cut short are refused", async (t) => {
  t.equal(new ChunkList().append(randomBytes(17)), false);
  const list = new ChunkList();
  t.equal(list.append(cut(randomBytes(100_000)).toBuffer()), true);
  t.equal(list.totalBytes(), 100_000);
});
