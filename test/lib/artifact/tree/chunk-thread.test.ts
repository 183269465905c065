import { createHash } from "node:crypto";
import { truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { DEFAULT_LIMITS } from "../../../../lib/artifact/limits.ts";
import { listProject } from "../../../../lib/artifact/project/project-tree.ts";
import { sealListed } from "../../../../lib/artifact/project/seal.ts";
import { ChunkThread } from "../../../../lib/artifact/tree/chunk-thread.ts";
import { Chunker, ChunkList } from "../../../../lib/artifact/tree/chunks.ts";
import { indexTree } from "../../../../lib/artifact/tree/tree-index.ts";
import { PROJECT, SEED, writeVersion } from "../../../support/forged/delta-trees.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

const noise = createHash("shake256", { outputLength: 6_000_000 }).update("chunks").digest();

function cutHere(bytes: Uint8Array): ChunkList {
  const list = new ChunkList();
  const chunker = new Chunker((length, digest) => list.push(length, digest));
  chunker.update(bytes);
  chunker.end();
  return list;
}

t.test("a thread of its own finds the same chunks, wherever a file ends", async (t) => {
  const sizes = [70_000, 1, 524_288, 3_000_001, 100_000];
  await using thread = new ChunkThread(sizes);
  const ends = sizes.map((_, index) => sizes.slice(0, index + 1).reduce((sum, size) => sum + size, 0));
  const all = noise.subarray(0, ends.at(-1));
  for (let at = 0; at < all.length; at += 400_000) {
    await thread.room();
    thread.write(all.subarray(at, at + 400_000));
  }
  const lists = await thread.lists();
  t.equal(lists.length, sizes.length);
  ends.forEach((end, index) => {
    const expected = cutHere(all.subarray(end - sizes[index]!, end));
    t.ok(lists[index]!.toBuffer().equals(expected.toBuffer()), `file ${index}`);
  });
});

t.test("a thread that ends early is an error, and nobody waits for it", async (t) => {
  const thread = new ChunkThread([100_000_000]);
  await thread[Symbol.asyncDispose]();
  for (let piece = 0; piece < 20; piece++) {
    await thread.room();
    thread.write(noise.subarray(0, 500_000));
  }
  await t.rejects(thread.lists(), /ended early/);
});

t.test("a large tree is sealed with the chunks that reading it alone finds", async (t) => {
  const folder = temporaryFolder(t);
  const { project } = await writeVersion(folder, "1.0.0", {
    files: { "plugins/demo/small": noise.subarray(0, 90_000) },
  });
  const large = join(folder, "plugins/demo/large");
  writeFileSync(large, noise);
  truncateSync(large, 33 * 1024 * 1024);
  const { project_name: projectName, version } = project.manifest;
  const listed = listProject(folder, { projectId: PROJECT, projectName, version, limits: DEFAULT_LIMITS });
  const output = join(temporaryFolder(t), "artifact");
  const sealed = await sealListed(listed, { output, seed: SEED, level: 1, chunks: true });
  const entries = [...sealed.project.entries];
  t.strictSame(entries, [...(await indexTree(listed.tree))]);
  const chunked = entries.filter((entry) => entry.type === "file" && entry.chunks !== undefined);
  t.match(chunked, [{ path: "plugins/demo/large" }, { path: "plugins/demo/small" }]);
});
