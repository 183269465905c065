import { execFileSync } from "node:child_process";
import { createDecipheriv, randomBytes, verify } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { zstdDecompressSync } from "node:zlib";
import t from "tap";
import { DEFAULT_LIMITS } from "../../../../lib/artifact/limits.ts";
import { listProject, readProject } from "../../../../lib/artifact/project/project-tree.ts";
import { sealListed, sealProject } from "../../../../lib/artifact/project/seal.ts";
import { parseFrameHeader } from "../../../../lib/artifact/project/zstd-frame.ts";
import { publicKeyOf } from "../../../../lib/artifact/signatures/ed25519.ts";
import { type ForgedArtifact, planText, treeDigest } from "../../../support/forged/artifact.ts";
import { snapshot } from "../../../support/host/attacked-host.ts";
import { openingCode, openInto } from "../../../support/host/staged.ts";
import { needs } from "../../../support/programs/optional.ts";

const PROJECT = "prj_0123456789abcdef0123456789abcdef";
const SEED = randomBytes(32);

const PLAN = planText(PROJECT, "  - { id: install, action: install_plugin, plugin: demo }\n");
const noise = randomBytes(3_500_000);

const FILES: Record<string, string | Uint8Array> = {
  "deployment/install.yaml": PLAN,
  "plugins/demo/plugin.yaml": "name: demo\nversion: 1.0.0\nenvironment: { required: [TIDE_KEY] }\n",
  "plugins/demo/empty.txt": "",
  "plugins/demo/src/noise.bin": noise,
  "plugins/demo/src/zeros.bin": Buffer.alloc(2_000_000),
  "plugins/demo/exactly-1-mib.bin": Buffer.alloc(1024 * 1024, 3),
  "plugins/demo/one-more.bin": Buffer.alloc(1024 * 1024 + 1, 4),
  "plugins/demo/caf\u00e9/\u6f22\u5b57-\u{1f600}.txt": "unicode",
  [`plugins/demo/${"folder-of-thirty-characters-xx/".repeat(6)}file`]: "more than 155 and 100 bytes",
  [`plugins/demo/${"n".repeat(200)}`]: "more than 100 bytes",
  "extensions/tide/service.js": "export default 1;\n",
  "integration.yaml": "app: { name: demo }\n",
};

function write(root: string, files: Record<string, string | Uint8Array>): string {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
    chmodSync(join(root, path), 0o644);
  }
  return root;
}

const options = { projectId: PROJECT, projectName: "Demo", version: "1.0.0", limits: DEFAULT_LIMITS };

async function seal(root: string, output: string, more: { level?: number; sourceDateEpoch?: number } = {}) {
  const { level = 3, ...rest } = more;
  const project = await readProject(root, { ...options, ...rest });
  const sealed = await sealProject(project, { output, seed: SEED, level });
  const artifact: ForgedArtifact = {
    file: readFileSync(output),
    dek: sealed.dek,
    signature: Buffer.from(sealed.signature),
    publicKey: Buffer.from(sealed.signerPublicKey),
  };
  return { project, sealed, artifact };
}

/** The content that node:crypto and node:zlib alone find inside. */
function unsealed({ file, dek }: ForgedArtifact): { frame: Buffer; tar: Buffer } {
  const decipher = createDecipheriv("aes-256-gcm", dek, file.subarray(0, 12));
  decipher.setAuthTag(file.subarray(-16));
  const frame = Buffer.concat([decipher.update(file.subarray(12, -16)), decipher.final()]);
  return { frame, tar: zstdDecompressSync(frame) };
}

t.test("what is sealed is opened again, whole: contents, names, executable bits", async (t) => {
  const folder = t.testdir({ tree: {} });
  const root = write(join(folder, "tree"), FILES);
  chmodSync(join(root, "plugins/demo/src/zeros.bin"), 0o755);
  const before = snapshot(root);
  const { project, sealed, artifact } = await seal(root, join(folder, "artifact.xdeploy"));
  t.strictSame(snapshot(root), before, "nothing was written into the source tree");
  t.equal(statSync(sealed.path).mode & 0o777, 0o600);
  t.equal(sealed.size, artifact.file.length);

  const opened = await openInto(folder, artifact);
  const { "manifest.json": _, ...tree } = snapshot(opened.staging);
  t.strictSame(tree, before);
  t.strictSame(opened.manifest, project.manifest);
  t.equal(opened.files, Object.keys(FILES).length + 1);
  t.match(opened.manifest, { plugins: [{ id: "demo", environment: { required: ["TIDE_KEY"] } }] });
  t.equal(opened.manifest.content_sha256, treeDigest(new Map(Object.entries(FILES))), "an independent digest");
});

t.test("the artifact is what the formats say, as others read it", { skip: needs("tar") }, async (t) => {
  const folder = t.testdir({ tree: {}, out: {} });
  const root = write(join(folder, "tree"), FILES);
  const { artifact } = await seal(root, join(folder, "artifact.xdeploy"));
  const { frame, tar } = unsealed(artifact);
  t.match(parseFrameHeader(frame), { contentSize: tar.length });
  execFileSync("tar", ["-xf", "-", "-C", join(folder, "out")], { input: tar });
  execFileSync("diff", ["-r", "--exclude=manifest.json", root, join(folder, "out")]);
  const key = Buffer.concat([Buffer.from("302a300506032b6570032100", "hex"), artifact.publicKey]);
  t.ok(verify(null, artifact.file, { key, format: "der", type: "spki" }, artifact.signature));
  t.strictSame(artifact.publicKey, Buffer.from(publicKeyOf(SEED)));
});

t.test("two builds differ in key, nonce and bytes, and with one SOURCE_DATE_EPOCH hold the same tar", async (t) => {
  const folder = t.testdir({ tree: {} });
  const root = write(join(folder, "tree"), FILES);
  const epoch = { sourceDateEpoch: 1_700_000_000 };
  const [one, two] = [await seal(root, join(folder, "1"), epoch), await seal(root, join(folder, "2"), epoch)];
  t.notOk(one.sealed.dek.equals(two.sealed.dek));
  t.notOk(one.artifact.file.subarray(0, 12).equals(two.artifact.file.subarray(0, 12)));
  t.ok(unsealed(one.artifact).tar.equals(unsealed(two.artifact).tar));
  t.equal(one.project.manifest.built_at, "2023-11-14T22:13:20.000Z");
  const later = await seal(root, join(folder, "3"));
  t.equal(later.project.manifest.content_sha256, one.project.manifest.content_sha256, "the digest has no time in it");
});

t.test("one pass over the files makes the artifact that two passes make", async (t) => {
  const folder = t.testdir({ tree: {} });
  const root = write(join(folder, "tree"), { ...FILES, "plugins/demo/large.bin": randomBytes(9_000_000) });
  mkdirSync(join(root, "plugins/demo/nothing"));
  const all = { ...options, sourceDateEpoch: 1_700_000_000, chunks: true };
  const twice = await readProject(root, all);
  const read: unknown[] = [];
  const { project, artifact } = await sealListed(listProject(root, all), {
    ...{ output: join(folder, "once"), seed: SEED, level: 3, chunks: true },
    onRead: ({ manifest }) => read.push(manifest),
  });
  t.strictSame({ ...project, entries: [...project.entries] }, { ...twice, entries: [...twice.entries] });
  t.ok(
    [...project.entries].some((entry) => entry.type === "file" && entry.chunks !== undefined),
    "with chunks",
  );
  t.strictSame(read, [twice.manifest]);
  const sealed = await sealProject(twice, { output: join(folder, "twice"), seed: SEED, level: 3 });
  const [one, two] = [artifact, sealed].map(({ path, dek }) =>
    unsealed({ file: readFileSync(path), dek } as ForgedArtifact),
  );
  t.ok(one!.tar.equals(two!.tar));
});

t.test("levels 1 to 19 are all opened", async (t) => {
  const folder = t.testdir({ tree: {} });
  const small = Object.fromEntries(Object.entries(FILES).filter(([, content]) => content.length < 100_000));
  const root = write(join(folder, "tree"), small);
  for (const level of [1, 9, 19]) {
    const { artifact } = await seal(root, join(folder, `${level}`), { level });
    t.equal(await openingCode(folder, artifact), "fine", `level ${level}`);
  }
});

t.test("an output that exists is not touched, and one that failed is gone", async (t) => {
  const folder = t.testdir({ tree: {}, existing: "mine" });
  const root = write(join(folder, "tree"), FILES);
  const project = await readProject(root, options);
  const output = join(folder, "existing");
  await t.rejects(sealProject(project, { output, seed: SEED, level: 3 }), { code: "usage" });
  t.equal(readFileSync(output, "utf8"), "mine");

  writeFileSync(join(root, "plugins/demo/src/noise.bin"), "changed since it was listed");
  const failed = join(folder, "failed");
  await t.rejects(sealProject(project, { output: failed, seed: SEED, level: 3 }), { code: "source_changed" });
  t.notOk(existsSync(failed));

  const signal = AbortSignal.abort();
  await t.rejects(sealProject(await readProject(root, options), { output: failed, seed: SEED, level: 3, signal }));
  t.notOk(existsSync(failed));
});

t.test("a tree that cannot become an artifact is refused, and why is said", async (t) => {
  const folder = t.testdir({});
  const without = (path: string) => Object.fromEntries(Object.entries(FILES).filter(([name]) => name !== path));
  const cases: [string, Record<string, string | Uint8Array>, string][] = [
    ["no plan", without("deployment/install.yaml"), "source_invalid"],
    [
      "a plan of another project",
      { ...FILES, "deployment/install.yaml": planText("prj_other67890", "  - { id: a, action: prepare }\n") },
      "source_invalid",
    ],
    ["a plan with an unknown key", { ...FILES, "deployment/install.yaml": `${PLAN}hooks: []\n` }, "source_invalid"],
    ["no descriptor", without("plugins/demo/plugin.yaml"), "source_invalid"],
    ["a descriptor without a version", { ...FILES, "plugins/demo/plugin.yaml": "name: demo\n" }, "source_invalid"],
    ["no plugin", { "deployment/install.yaml": PLAN }, "source_invalid"],
    ["an id that is none", { ...FILES, "plugins/Demo Two/plugin.yaml": "name: x\nversion: 1.0.0\n" }, "source_invalid"],
    [
      "a plugins folder outside",
      { ...FILES, "integration.yaml": "plugins: { directory: ../plugins }\n" },
      "source_invalid",
    ],
  ];
  for (const [index, [what, files, code]] of cases.entries()) {
    const root = write(join(folder, `${index}`), { ...files, "plugins/demo/src/noise.bin": "small" });
    if (what === "no plugin") execFileSync("rm", ["-r", join(root, "plugins")]);
    await t.rejects(readProject(root, options), { kind: "UsageError", code }, what);
  }
  const linked = write(join(folder, "linked"), { ...FILES });
  symlinkSync("/etc/passwd", join(linked, "plugins/demo/passwd"));
  await t.rejects(readProject(linked, options), { code: "source_link" });
});
