import { execFileSync } from "node:child_process";
import { appendFileSync, chmodSync, mkdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import fc from "fast-check";
import t from "tap";
import { pack } from "tar-stream";
import { DEFAULT_LIMITS } from "../../../../lib/artifact/limits.ts";
import { tarBytes, tarChunks, type TarSource } from "../../../../lib/artifact/project/tar.ts";
import { listSourceTree, type SourceTree } from "../../../../lib/artifact/tree/source-tree.ts";
import { needs } from "../../../support/programs/optional.ts";

const MANIFEST = Buffer.from('{"version":"1.0.0"}');

const source = (tree: SourceTree, manifest = MANIFEST, mtime = 0): TarSource => ({
  ...{ tree, mtime, manifestBytes: manifest.length },
  manifest: () => manifest,
});

function packed(...from: Parameters<typeof source>): Buffer {
  const chunks: Buffer[] = [];
  // A chunk is the writer's own buffer, which it uses again.
  for (const chunk of tarChunks(source(...from))) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks);
}

const list = (root: string): SourceTree => listSourceTree(root, { limits: DEFAULT_LIMITS });

function write(root: string, files: Record<string, string | Uint8Array>): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  }
}

const LONG = `${"folder-of-thirty-characters-xx/".repeat(5)}file`;
const SAMPLE = {
  "plain.txt": "text",
  "empty.txt": "",
  "exactly-512.bin": Buffer.alloc(512, 1),
  "deep/er/file": "x",
  "caf\u00e9/\u6f22\u5b57-\u{1f600}.txt": "unicode",
  [LONG]: "a long name",
  [`${"n".repeat(150)}`]: "a long name that cannot be split",
  [`${"\u6f22".repeat(60)}/x`]: "long and not ASCII",
  "large.bin": Buffer.alloc(2_500_000, 7),
};

t.test("the same tree gives the same bytes, wherever it lies and whenever its files were written", async (t) => {
  const root = t.testdir({ one: {}, two: {} });
  write(join(root, "one"), SAMPLE);
  write(join(root, "two"), Object.fromEntries(Object.entries(SAMPLE).reverse()));
  utimesSync(join(root, "two", "plain.txt"), 1_000_000, 1_000_000);
  chmodSync(join(root, "two", "plain.txt"), 0o600);
  const one = packed(list(join(root, "one")));
  t.ok(one.equals(packed(list(join(root, "two")))));
  chmodSync(join(root, "two", "plain.txt"), 0o700);
  t.notOk(one.equals(packed(list(join(root, "two")))), "but the executable bit counts");
  t.notOk(one.equals(packed(list(join(root, "one")), MANIFEST, 86_400)), "and so does SOURCE_DATE_EPOCH");
});

t.test(
  "GNU tar lists our members with ./, owner 0, no names, the given mtime and two modes",
  { skip: needs("tar") },
  async (t) => {
    const root = t.testdir({});
    write(root, SAMPLE);
    writeFileSync(join(root, "tool.sh"), "#!/bin/sh\n", { mode: 0o777 });
    const tree = list(root);
    const tar = packed(tree, MANIFEST, 86_400);
    const listing = execFileSync(
      "tar",
      ["--numeric-owner", "--utc", "--full-time", "--quoting-style=literal", "-tvf", "-"],
      {
        input: tar,
        env: { ...process.env, LC_ALL: "C.UTF-8" },
        encoding: "utf8",
      },
    );
    const lines = listing.trimEnd().split("\n");
    t.equal(lines.length, tree.members.length + 2, "the root and the manifest beside the tree's members");
    for (const line of lines) t.match(line, /^(drwxr-xr-x|-rw-r--r--|-rwxr-xr-x) 0\/0 +\d+ 1970-01-02 00:00:00 \.\//);
    const names = lines.map((line) => line.slice(line.indexOf("./")));
    t.equal(names[0], "./");
    t.equal(names.at(-1), "./manifest.json");
    t.strictSame(
      names.filter((name) => name !== "./" && name !== "./manifest.json"),
      [...tree.members].map(({ path, type }) => `./${path}${type === "folder" ? "/" : ""}`),
    );
    t.ok(lines.some((line) => line.startsWith("-rwxr-xr-x") && line.endsWith("./tool.sh")));
  },
);

t.test("GNU tar unpacks what we packed, byte for byte", { skip: needs("tar") }, async (t) => {
  const root = t.testdir({ from: {}, to: {} });
  write(join(root, "from"), SAMPLE);
  const tar = packed(list(join(root, "from")));
  execFileSync("tar", ["-xf", "-", "-C", join(root, "to")], { input: tar });
  execFileSync("diff", ["-r", "--exclude=manifest.json", join(root, "from"), join(root, "to")]);
  t.equal(execFileSync("tar", ["-xOf", "-", "./manifest.json"], { input: tar }).toString(), MANIFEST.toString());
});

/** Components that make headers long, short, ASCII or not; some lengths fall on every border of the format. */
const component = fc.oneof(
  fc.integer({ min: 1, max: 120 }).map((length) => "n".repeat(length)),
  fc.integer({ min: 1, max: 60 }).map((length) => "\u00e9".repeat(length)),
  fc.constantFrom("a", "\u6f22", "\u{1f600}", "x".repeat(99), "x".repeat(100), "x".repeat(97), "x".repeat(98)),
);
const path = fc.array(component, { minLength: 1, maxLength: 7 }).map((parts) => parts.join("/"));

/** The tar that tar-stream makes of the same members. */
async function theirs(tree: SourceTree, manifest: Buffer): Promise<Buffer> {
  const archive = pack();
  const common = { uid: 0, gid: 0, uname: "", gname: "", mtime: new Date(0) };
  archive.entry({ ...common, name: "./", mode: 0o755, type: "directory" });
  for (const { path, type, executable } of tree.members) {
    const mode = type === "folder" || executable ? 0o755 : 0o644;
    if (type === "folder") archive.entry({ ...common, name: `./${path}/`, mode, type: "directory" });
    else archive.entry({ ...common, name: `./${path}`, mode, type: "file" }, readFileSync(join(tree.root, path)));
  }
  archive.entry({ ...common, name: "./manifest.json", mode: 0o644, type: "file" }, manifest);
  archive.finalize();
  return Buffer.concat(await Array.fromAsync(archive as AsyncIterable<Buffer>));
}

t.test("the tar of any names and sizes is what tar-stream makes, and as long as tarBytes says", async (t) => {
  const root = t.testdir({});
  let run = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(path, fc.integer({ min: 0, max: 1100 })), { maxLength: 4 }), async (files) => {
      const folder = join(root, `${run++}`);
      mkdirSync(folder);
      for (const [name, size] of files) {
        try {
          write(folder, { [name]: Buffer.alloc(size) });
        } catch {
          // A file stands where a folder should: another name will do.
        }
      }
      const tree = list(folder);
      const manifest = Buffer.alloc(run);
      const tar = packed(tree, manifest);
      return tar.length === tarBytes(source(tree, manifest)) && tar.equals(await theirs(tree, manifest));
    }),
    { numRuns: 120 },
  );
  t.pass();
});

t.test("a file that changes while it is packed stops the packing", async (t) => {
  for (const size of [10, 3_000_000]) {
    const root = t.testdir({ "a.bin": Buffer.alloc(size) });
    const longer = list(root);
    appendFileSync(join(root, "a.bin"), "x");
    t.throws(() => packed(longer), { kind: "PublishError", code: "source_changed" }, "longer");
    const touched = list(root);
    utimesSync(join(root, "a.bin"), 1, 1);
    t.throws(() => packed(touched), { code: "source_changed" }, "touched");
  }
});

t.test("a large file that changes in the middle of its reading stops the packing", async (t) => {
  const root = t.testdir({ "a.bin": Buffer.alloc(8_000_000) });
  const tree = list(root);
  t.throws(
    () => {
      let first = true;
      for (const _chunk of tarChunks(source(tree))) {
        if (first) appendFileSync(join(root, "a.bin"), "x");
        first = false;
      }
    },
    { code: "source_changed" },
  );
});

t.test("a consumer that stops early leaves nothing waiting", async (t) => {
  const root = t.testdir({ "a.bin": Buffer.alloc(8_000_000) });
  for (const chunk of tarChunks(source(list(root)))) {
    t.ok(chunk.length > 0);
    break;
  }
});
