import { execFileSync } from "node:child_process";
import { createCipheriv, randomBytes, sign } from "node:crypto";
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import fc from "fast-check";
import t from "tap";
import { openFile, readOpeningKeys, writeOpeningKeys } from "../../../../lib/artifact/delta/open-file.ts";
import { DEFAULT_LIMITS } from "../../../../lib/artifact/limits.ts";
import { rounds } from "../../../support/effort.ts";
import {
  forgedArtifact,
  forgedFrame,
  forgedSigner,
  forgedTar,
  memberBlocks,
  projectFiles,
  projectTar,
  treeDigest,
} from "../../../support/forged/artifact.ts";
import { snapshot } from "../../../support/host/attacked-host.ts";
import { openingCode, openInto, sealedTar } from "../../../support/host/staged.ts";
import { needs } from "../../../support/programs/optional.ts";

const project = { projectId: "prj_0123456789abcdef", version: "1.0.0" };

const LONG = `plugins/demo/${"folder-of-thirty-characters-xx/".repeat(6)}file`;
const NAMES: Record<string, string> = {
  [LONG]: "long",
  [`plugins/demo/${"n".repeat(200)}`]: "long, in one piece",
  "plugins/demo/caf\u00e9/\u6f22\u5b57.txt": "not ASCII",
  [`plugins/demo/${"\u6f22".repeat(70)}`]: "long and not ASCII",
};

for (const missing of [needs("tar", "zstd")]) {
  t.test("an artifact made with tar, zstd and node:crypto is opened", { skip: missing }, async (t) => {
    const folder = t.testdir({ tree: {} });
    const tree = join(folder, "tree");
    const files = { ...projectFiles(project), ...NAMES };
    for (const [path, content] of Object.entries(files)) {
      mkdirSync(dirname(join(tree, path)), { recursive: true });
      writeFileSync(join(tree, path), content);
    }
    const plugin = { id: "demo", version: "1.0.0", sha256: null, environment: null, source: null };
    const manifest = {
      ...{ format_version: "1", project_id: project.projectId, project_name: "Demo", version: "1.0.0" },
      ...{ built_at: "2026-01-01T00:00:00Z", plugins: [plugin], extensions: [], plugins_dirname: "plugins" },
      content_sha256: treeDigest(new Map(Object.entries(files))),
    };
    writeFileSync(join(tree, "manifest.json"), JSON.stringify(manifest));
    const archive = join(folder, "tree.tar");

    const ways = [
      ["--format=ustar", "--exclude=n*n", "--exclude=caf*", "--exclude=\u6f22*", "."],
      ["--format=posix", "."],
      ["--format=gnu", "."],
      ["--format=posix", "manifest.json", "deployment", "plugins"],
      ["--format=gnu", "manifest.json", "plugins", "deployment"],
    ];
    for (const [way, ...what] of ways.map((args) => [args[0]!, ...args.slice(1)] as const)) {
      const ustar = way === "--format=ustar";
      execFileSync("tar", [way, "-C", tree, "-cf", archive, ...what]);
      execFileSync("zstd", ["-qf", archive, "-o", `${archive}.zst`]);
      const plaintext = readFileSync(`${archive}.zst`);
      const signer = forgedSigner();
      const dek = randomBytes(32);
      const nonce = randomBytes(12);
      const cipher = createCipheriv("aes-256-gcm", dek, nonce);
      const file = Buffer.concat([nonce, cipher.update(plaintext), cipher.final(), cipher.getAuthTag()]);
      const artifact = { file, dek, signature: sign(null, file, signer.privateKey), publicKey: signer.publicKey };
      if (ustar) {
        // ustar cannot carry those names: the digest tells that they are missing.
        t.equal(await openingCode(folder, artifact), "digest_mismatch", `${way} without the names it cannot hold`);
        continue;
      }
      const opened = await openInto(folder, artifact);
      t.strictSame(Object.keys(snapshot(opened.staging)), Object.keys(snapshot(tree)), `${way} ${what.join(" ")}`);
      execFileSync("diff", ["-r", tree, opened.staging]);
    }
  });
}

t.test("ustar prefixes, pax paths and GNU long names give the same tree", async (t) => {
  const folder = t.testdir({});
  const path = `plugins/demo/${"d".repeat(80)}/${"e".repeat(60)}/f`;
  const split = path.lastIndexOf("/");
  const ustar = memberBlocks({ name: path.slice(split + 1), content: "x" });
  ustar.write(path.slice(0, split), 345, "latin1");
  ustar.write("        ", 148, "latin1");
  const sum = ustar.subarray(0, 512).reduce((total, byte) => total + byte, 0);
  ustar.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  const counted = { [path]: "x" };
  const head = projectTar({ ...project, counted }).subarray(0, -1024);
  const ways = {
    "ustar prefix": ustar,
    pax: memberBlocks({ name: "short", pax: { path }, content: "x" }),
    GNU: memberBlocks({ name: path, gnuLongName: true, content: "x" }),
    "GNU with ./": memberBlocks({ name: `./${path}`, gnuLongName: true, content: "x" }),
  };
  for (const [way, blocks] of Object.entries(ways)) {
    const opened = await openInto(folder, sealedTar(Buffer.concat([head, blocks, Buffer.alloc(1024)])));
    t.equal(readFileSync(join(opened.staging, path), "utf8"), "x", way);
  }
});

t.test("what is unpacked is private until somebody else makes it public", async (t) => {
  const folder = t.testdir({});
  const { staging } = await openInto(folder, sealedTar(projectTar(project)));
  t.equal(statSync(staging).mode & 0o777, 0o700);
});

t.test("a tar with any byte changed is refused or is the same tree, and never hangs or crashes", async (t) => {
  const folder = t.testdir({});
  const tar = projectTar(project);
  // The digest is one of files: the header of a folder may become that of another, which then is there and empty.
  const filesOf = (staging: string): [string, string][] =>
    Object.entries(snapshot(staging)).filter(([, what]) => what !== "folder");
  const good = filesOf((await openInto(folder, sealedTar(tar))).staging);
  // Headers are where a parser can be led astray: two of three changes go there.
  const headers = Array.from({ length: tar.length / 512 }, (_, i) => i * 512).filter(
    (at) => tar.toString("latin1", at + 257, at + 262) === "ustar",
  );
  const inHeader = fc.tuple(fc.constantFrom(...headers), fc.nat(511)).map(([at, offset]) => at + offset);
  const position = fc.oneof(inHeader, inHeader, fc.nat(tar.length - 1));
  const codes = new Map<string, number>();
  await fc.assert(
    fc.asyncProperty(position, fc.integer({ min: 1, max: 255 }), fc.boolean(), async (at, mask, fixSum) => {
      const changed = Buffer.from(tar);
      changed[at]! ^= mask;
      const header = headers.findLast((start) => start <= at && at < start + 512);
      if (fixSum && header !== undefined) {
        changed.write("        ", header + 148, "latin1");
        const sum = changed.subarray(header, header + 512).reduce((total, byte) => total + byte, 0);
        changed.write(`${sum.toString(8).padStart(6, "0")}\0 `, header + 148, "latin1");
      }
      const artifact = sealedTar(changed);
      const code = await openingCode(folder, artifact);
      codes.set(code, (codes.get(code) ?? 0) + 1);
      if (code !== "fine") return code !== "internal";
      const { staging } = await openInto(folder, artifact);
      const files = filesOf(staging);
      return (
        files.length === good.length &&
        files.every(
          // The manifest's free text is covered by the signature, not by the tree's digest.
          ([path, what], i) => good[i]![0] === path && (path === "manifest.json" || same(good[i]![1], what)),
        )
      );
    }),
    {
      numRuns: rounds(12, 500),
      examples: [
        [1098, 1, false],
        [0, 64, true],
      ],
    },
  );
  t.comment(JSON.stringify(Object.fromEntries(codes)));
});

/** A changed mode may make a file executable; nothing else may differ. */
const same = (a: string, b: string): boolean => a.replace(/ 644 | 755 /, " ") === b.replace(/ 644 | 755 /, " ");

t.test("any pax header, however odd, ends in a verdict", async (t) => {
  const folder = t.testdir({});
  const key = fc.constantFrom("path", "size", "linkpath", "mtime", "GNU.sparse.map", "__proto__", "constructor", "uid");
  const value = fc.oneof(
    fc.string({ maxLength: 20 }),
    fc.constantFrom("-1", "99999999999999999999", "../x", "/x", "0", "1e5", "NaN", "a\0b", ""),
  );
  await fc.assert(
    fc.asyncProperty(fc.dictionary(key, value, { maxKeys: 4 }), async (pax) => {
      const tar = forgedTar([{ name: "./x", pax, content: "content" }]);
      const code = await openingCode(folder, sealedTar(tar));
      return code !== "fine" && code !== "internal";
    }),
    { numRuns: 20 },
  );
  t.pass();
});

t.test("an artifact file is opened offline with the keys that lie beside it", async (t) => {
  const folder = t.testdir({});
  const signer = forgedSigner();
  const { file, dek, signature, publicKey } = forgedArtifact(forgedFrame(projectTar(project)), signer);
  const path = join(folder, "artifact.xdeploy");
  writeFileSync(path, file);
  await writeOpeningKeys({ path, size: file.length, dek, signature, signerPublicKey: publicKey });
  t.equal(statSync(`${path}.json`).mode & 0o777, 0o600);
  const keys = await readOpeningKeys(path, {});
  const { signal } = new AbortController();
  const common = { ...keys, signerPublicKey: publicKey, limits: DEFAULT_LIMITS, signal };

  const out = join(folder, "out");
  const found = await openFile(path, { ...common, out });
  t.match(found, { manifest: { version: "1.0.0" } });
  t.match(snapshot(out), { "plugins/demo/plugin.yaml": /^file/ });
  await t.rejects(openFile(path, { ...common, out }), { code: "usage" }, "never over an existing folder");

  const { dek: _, ...withoutKey } = common;
  t.match(await openFile(path, withoutKey), { manifest: null }, "without a key only the signature is checked");
  writeFileSync(path, Buffer.concat([file, Buffer.alloc(1)]));
  await t.rejects(openFile(path, withoutKey), { code: "signature_invalid" });
  await t.rejects(openFile(path, { ...common, out: join(folder, "bad") }), { code: "signature_invalid" });
  t.strictSame(
    Object.keys(snapshot(folder, (name) => name.startsWith("out/"))).toSorted(),
    ["artifact.xdeploy", "artifact.xdeploy.json", "out"],
    "nothing half-done stays",
  );
  await t.rejects(openFile(join(folder, "nowhere"), common), { code: "usage" });
});
