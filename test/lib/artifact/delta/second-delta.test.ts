// Only in test:all: an upgrade from each of many versions.
import { execFileSync } from "node:child_process";
import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { zstdCompressSync, zstdDecompressSync } from "node:zlib";
import t from "tap";
import { openIndex } from "../../../../lib/artifact/delta/index-file.ts";
import { makeDelta } from "../../../../lib/artifact/delta/make-delta.ts";
import { DEFAULT_LIMITS } from "../../../../lib/artifact/limits.ts";
import { sealProject } from "../../../../lib/artifact/project/seal.ts";
import { listSourceTree } from "../../../../lib/artifact/tree/source-tree.ts";
import {
  baseOf,
  complete,
  deltaBetween,
  PROJECT,
  reopenIndex,
  SEED,
  type Tree,
  unpackFull,
  type Version,
  writeVersion,
} from "../../../support/forged/delta-trees.ts";
import { snapshot } from "../../../support/host/attacked-host.ts";
import { needs } from "../../../support/programs/optional.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

const PROGRAM = join(import.meta.dirname, "second-delta.py");
const python = (...args: string[]): string =>
  execFileSync("python3", [PROGRAM, ...args], { encoding: "utf8", maxBuffer: 2 ** 26 });

const skip = needs("python3");

const bytesOf = (name: string, length: number): Buffer =>
  createHash("shake256", { outputLength: length }).update(name).digest();
const large = bytesOf("large", 300_000);
const zeros = Buffer.alloc(250_000);

const BEFORE: Tree = {
  files: {
    "plugins/demo/kept.txt": "kept",
    "plugins/demo/edited.txt": "one",
    "plugins/demo/gone.txt": "gone",
    "plugins/demo/moved-from.txt": "moved as it is",
    "plugins/demo/large.bin": large,
    "plugins/demo/zeros.bin": zeros,
    "plugins/demo/file-then-folder": "a file",
    "plugins/demo/folder-then-file/inside.txt": "inside",
    "plugins/demo/fills": null,
    "plugins/demo/stays-empty": null,
    "plugins/demo/becomes-file": null,
    "plugins/demo/empties/inside.txt": "inside",
    "plugins/demo/run.sh": "#!/bin/sh\n",
  },
  executable: ["plugins/demo/run.sh", "plugins/demo/kept.txt"],
};
const AFTER: Tree = {
  files: {
    "plugins/demo/kept.txt": "kept",
    "plugins/demo/edited.txt": "two!",
    "plugins/demo/moved-to.txt": "moved as it is",
    "plugins/demo/large.bin": Buffer.concat([large.subarray(0, 100_000), Buffer.from("more"), large.subarray(100_000)]),
    "plugins/demo/zeros.bin": Buffer.concat([zeros, Buffer.from("\u00e9")]),
    "plugins/demo/file-then-folder/inside.txt": "inside",
    "plugins/demo/folder-then-file": "a file",
    "plugins/demo/fills/\uff5e": "before",
    "plugins/demo/fills/\u{1f600}": "behind",
    "plugins/demo/stays-empty": null,
    "plugins/demo/becomes-file": "a file",
    "plugins/demo/empties": null,
    "plugins/demo/new": null,
    "plugins/demo/run.sh": "#!/bin/sh\n",
    "plugins/demo/empty.txt": "",
  },
  executable: ["plugins/demo/edited.txt"],
};

/** Both versions on disk, unpacked from their full artifacts. */
async function versions(folder: string) {
  const from = await writeVersion(join(folder, "a"), "1.0.0", BEFORE);
  const to = await writeVersion(join(folder, "b"), "1.1.0", AFTER);
  return { from, to, before: await unpackFull(folder, from), after: await unpackFull(folder, to) };
}

const indexKey = ({ project }: Version): Buffer =>
  Buffer.from(hkdfSync("sha256", SEED, "", `sealift index v1\0${PROJECT}\0${project.manifest.version}`, 32));

t.test("a second implementation completes our deltas, and reads our indexes", { skip }, async (t) => {
  const folder = temporaryFolder(t);
  const { from, to, before, after } = await versions(folder);
  const delta = await deltaBetween(folder, from, to);
  const sealed = readFileSync(delta.path);
  const decipher = createDecipheriv("aes-256-gcm", delta.dek, sealed.subarray(0, 12));
  decipher.setAuthTag(sealed.subarray(-16));
  const frame = Buffer.concat([decipher.update(sealed.subarray(12, -16)), decipher.final()]);
  writeFileSync(join(folder, "delta.tar"), zstdDecompressSync(frame));
  const output = join(folder, "completed");
  python("complete", before, join(folder, "delta.tar"), output);
  t.strictSame(snapshot(output), snapshot(after));

  await reopenIndex(folder, to);
  python("check", join(folder, "index-1.1.0.plain"), after);
});

t.test("deltas of the second implementation are completed by ours", { skip }, async (t) => {
  const folder = temporaryFolder(t);
  const { from, to, before, after } = await versions(folder);
  await reopenIndex(folder, from);
  const work = join(folder, "work");
  python("make", join(folder, "index-1.0.0.plain"), after, work, PROJECT, "1.1.0");
  const tree = listSourceTree(work, { limits: DEFAULT_LIMITS });
  const delta = await sealProject({ ...to.project, tree }, { output: join(folder, "theirs"), seed: SEED, level: 3 });
  t.ok(delta.size < 140_000, `${delta.size} bytes: our index told what is there`);
  t.strictSame(snapshot(await complete(folder, delta, baseOf(from, before), "1.1.0")), snapshot(after));
});

t.test("an index of the second implementation helps our publisher", { skip }, async (t) => {
  const folder = temporaryFolder(t);
  const { from, to, before, after } = await versions(folder);
  const nonce = randomBytes(12);
  const cipher = createCipheriv("aes-256-gcm", indexKey(from), nonce);
  const lines = zstdCompressSync(python("index", before, PROJECT, "1.0.0"));
  const file = join(folder, "their-index");
  writeFileSync(file, Buffer.concat([nonce, cipher.update(lines), cipher.final(), cipher.getAuthTag()]));
  const base = await openIndex(file, `${file}.plain`, SEED, { projectId: PROJECT, version: "1.0.0" });
  const work = join(folder, "work");
  const options = { work, output: join(folder, "ours"), artifactBytes: 1, maxShare: Infinity };
  const delta = await makeDelta({
    ...options,
    project: to.project,
    base,
    seed: SEED,
    level: 3,
    limits: DEFAULT_LIMITS,
  });
  t.ok(delta!.size < 140_000, `${delta!.size} bytes`);
  t.strictSame(snapshot(await complete(folder, delta!, baseOf(from, before), "1.1.0")), snapshot(after));
});

t.test(
  "the page's vectors are what the second implementation computes, and ours opens their index",
  { skip },
  async (t) => {
    const page = readFileSync(join(import.meta.dirname, "../../../../docs/contract/vectors.md"), "utf8");
    for (const line of python("vectors").trim().split("\n")) t.ok(page.includes(line), line);
    const [, hex] = /The index of U.*?```text\n([0-9a-f\n]+)```/su.exec(page)!;
    const file = join(temporaryFolder(t), "index");
    writeFileSync(file, Buffer.from(hex!.replaceAll("\n", ""), "hex"));
    const seed = Buffer.from(Array.from({ length: 32 }, (_, value) => value));
    const index = await openIndex(file, `${file}.plain`, seed, { projectId: PROJECT, version: "1.0.0" });
    t.match((await Array.fromAsync(index.entries())).flat(), [
      { type: "folder", path: "a/empty" },
      { type: "file", path: "a/run.sh", executable: true },
      { type: "file", path: "a-b/c", size: 2 },
    ]);
  },
);
