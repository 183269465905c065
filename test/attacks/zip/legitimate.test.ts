// Only in test:all: each of its archives is published, and refused by a host, 11 s of a processor.
/** The other side of the attacks: what real packers and source hosts write must be installed as it is. */
import { execFileSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { descriptorEntry, forgedZip } from "../../support/forged/zip.ts";
import { marketplaceHost, pluginZip, SLUG } from "../../support/host/marketplace-host.ts";
import { needs } from "../../support/programs/optional.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const digest = (content: string | Uint8Array): string => createHash("sha256").update(content).digest("hex");
const file = (content: string | Uint8Array, mode = "644"): string => `file ${mode} ${digest(content)}`;
const source = "export default 1;\n";
const PLUGIN = `name: ${SLUG}\nversion: 1.0.0\n`;

t.test("data descriptors in each of their forms", async (t) => {
  const host = await marketplaceHost(t);
  for (const method of [0, 8]) {
    for (const signature of [true, false]) {
      const descriptor = { signature };
      const files = await host.accepts(
        t,
        pluginZip([
          { name: "a.js", content: source, method, descriptor },
          { name: "empty", method, descriptor },
          { name: "large.bin", content: Buffer.alloc(2_000_000, 1), method, descriptor },
          { name: "folder/", descriptor },
        ]),
      );
      t.match(files, { "a.js": file(source), empty: file(""), folder: "folder" });
    }
  }
});

t.test("a local header that holds the truth although a descriptor follows", async (t) => {
  const host = await marketplaceHost(t);
  const entry = { name: "a.js", content: source };
  const whole = forgedZip([entry]);
  const local = { crc: whole.readUInt32LE(14), size: source.length, compressedSize: source.length };
  t.match(await host.accepts(t, pluginZip([{ ...entry, descriptor: true, local }])), { "a.js": file(source) });
});

t.test("an archive's comment, where source hosts write the commit", async (t) => {
  const host = await marketplaceHost(t);
  for (const comment of ["0123456789abcdef0123456789abcdef01234567", "c".repeat(65_535), "PK\u0005\u0006 in it"])
    t.match(await host.accepts(t, pluginZip([{ name: "a.js", content: source }], { comment })), {
      "a.js": file(source),
    });
});

t.test("ZIP64 sizes and end records", async (t) => {
  const host = await marketplaceHost(t);
  for (const method of [0, 8]) {
    const entry = { name: "a.js", content: source, method, zip64: true };
    t.match(await host.accepts(t, pluginZip([entry], { zip64: true })), { "a.js": file(source) });
    t.match(await host.accepts(t, pluginZip([{ ...entry, zip64: false }], { zip64: true })), { "a.js": file(source) });
    t.match(await host.accepts(t, pluginZip([entry])), { "a.js": file(source) });
  }
});

t.test("stored and deflated files, empty ones, and one of more than a mebibyte", async (t) => {
  const host = await marketplaceHost(t);
  const large = Buffer.concat([randomBytes(1_500_000), Buffer.alloc(1_500_000)]);
  const entries = [0, 8].flatMap((method) => [
    { name: `small-${method}`, content: source, method },
    { name: `empty-${method}`, content: "", method },
    { name: `large-${method}`, content: large, method },
  ]);
  const files = await host.accepts(t, pluginZip(entries));
  for (const { name, content } of entries) t.equal(files[name], file(content), name);
});

t.test("names in UTF-8, with and without the flag that says so", async (t) => {
  const host = await marketplaceHost(t);
  const names = [
    "café.js",
    "日本語/ファイル.txt",
    "emoji-🌊.md",
    "with space.txt",
    "-dash",
    "a..b",
    "...hidden",
    "#x%20",
  ];
  for (const flags of [0x0800, 0]) {
    const files = await host.accepts(t, pluginZip(names.map((name) => ({ name, content: name, flags }))));
    for (const name of names) t.equal(files[name], file(name), name);
  }
});

t.test("a single top folder is flattened, with and without an entry of its own", async (t) => {
  const host = await marketplaceHost(t);
  const top = `${SLUG}-0123456/`;
  const inside = [descriptorEntry(SLUG, "1.0.0", top), { name: `${top}src/main.js`, content: source }];
  for (const entries of [inside, [{ name: top }, ...inside], [...inside, { name: top }]]) {
    const files = await host.accepts(t, forgedZip(entries));
    t.strictSame(files, { "plugin.yaml": file(PLUGIN), src: "folder", "src/main.js": file(source) });
  }
});

t.test("any other shape is installed as it stands", async (t) => {
  const host = await marketplaceHost(t, "service");
  const shapes: [names: string[], paths: string[]][] = [
    [["a.js"], ["a.js"]],
    [
      ["a.js", "src/b.js"],
      ["a.js", "src/b.js"],
    ],
    [
      ["one/a.js", "two/b.js"],
      ["one/a.js", "two/b.js"],
    ],
    [
      ["top/a.js", "beside.txt"],
      ["top/a.js", "beside.txt"],
    ],
    [
      ["top/a.js", "beside/"],
      ["top/a.js", "beside"],
    ],
    [
      ["top/inner/a.js", "top/inner/b.js"],
      ["inner/a.js", "inner/b.js"],
    ],
  ];
  for (const [names, paths] of shapes) {
    const entries = names.map((name) => ({ name, content: name.endsWith("/") ? "" : name }));
    const installed = await host.accepts(t, forgedZip(entries));
    for (const path of paths) t.ok(installed[path], `${names.join()}: ${path}`);
    const leaves = Object.keys(installed).filter((path) => installed[path] !== "folder" || path === "beside");
    t.strictSame(leaves.toSorted(), paths.toSorted(), names.join());
  }
});

t.test("empty folders and executable bits are kept", async (t) => {
  const host = await marketplaceHost(t);
  const entries = [
    { name: "empty/" },
    { name: "deep/er/" },
    { name: "dos/", madeBy: 0 },
    { name: "run.sh", content: "#!/bin/sh\n", mode: 0o100755 },
    { name: "read.txt", content: "x", mode: 0o100600 },
    { name: "untyped.txt", content: "x", mode: 0o600 },
    { name: "dos.sh", content: "x", mode: 0o100755, madeBy: 0 },
  ];
  t.match(await host.accepts(t, pluginZip(entries)), {
    empty: "folder",
    "deep/er": "folder",
    dos: "folder",
    "run.sh": file("#!/bin/sh\n", "755"),
    "read.txt": file("x"),
    "untyped.txt": file("x"),
    "dos.sh": file("x"),
  });
});

/** A plugin's folder with something of everything. */
function makeFolder(parent: string): Record<string, string> {
  const folder = join(parent, "tide-table-1.0.0");
  for (const path of ["src", "empty", "資料"]) mkdirSync(join(folder, path), { recursive: true });
  const large = Buffer.concat([randomBytes(800_000), Buffer.alloc(800_000)]);
  const files = { "plugin.yaml": PLUGIN, "src/main.js": source, "資料/notes.txt": "é", "large.bin": large, none: "" };
  for (const [path, content] of Object.entries(files)) writeFileSync(join(folder, path), content);
  writeFileSync(join(folder, "run.sh"), "#!/bin/sh\n");
  chmodSync(join(folder, "run.sh"), 0o755);
  const expected = Object.entries(files).map(([path, content]): [string, string] => [path, file(content)]);
  return { ...Object.fromEntries(expected), "run.sh": file("#!/bin/sh\n", "755"), empty: "folder" };
}

t.test("archives of the zip program", { skip: needs("zip") }, async (t) => {
  const host = await marketplaceHost(t);
  const parent = temporaryFolder(t);
  const expected = makeFolder(parent);
  const pack = (args: string[], cwd = parent): Buffer => execFileSync("zip", args, { cwd, maxBuffer: 2 ** 26 });
  pack(["-qr", "plain.zip", "tide-table-1.0.0"]);
  pack(["-qr0", "stored.zip", "tide-table-1.0.0"]);
  pack(["-qr", "../flat.zip", "."], join(parent, "tide-table-1.0.0"));
  pack(["-qr", "-fz", "zip64.zip", "tide-table-1.0.0"]);
  pack(["-qrX", "plain-x.zip", "tide-table-1.0.0"]);
  // Through a pipe: with data descriptors.
  writeFileSync(join(parent, "streamed.zip"), pack(["-qr", "-", "tide-table-1.0.0"]));
  const archives = readdirSync(parent).filter((name) => name.endsWith(".zip"));
  t.equal(archives.length, 6);
  for (const archive of archives) {
    t.match(await host.accepts(t, readFileSync(join(parent, archive))), expected, archive);
  }
});

t.test("archives of Python's zipfile", { skip: needs("python3") }, async (t) => {
  const host = await marketplaceHost(t);
  const parent = temporaryFolder(t);
  const expected = makeFolder(parent);
  const script = `
import os, sys, zipfile
class Pipe:
    def __init__(self, file): self.file = file
    def write(self, data): return self.file.write(data)
    def flush(self): self.file.flush()
def pack(target, method, force=False):
    with zipfile.ZipFile(target, "w", method) as archive:
        for folder, folders, files in os.walk("tide-table-1.0.0"):
            for name in folders: archive.write(os.path.join(folder, name))
            for name in files:
                path = os.path.join(folder, name)
                info = zipfile.ZipInfo.from_file(path)
                info.compress_type = method
                with open(path, "rb") as source, archive.open(info, "w", force_zip64=force) as out: out.write(source.read())
pack("deflated.zip", zipfile.ZIP_DEFLATED)
pack("stored.zip", zipfile.ZIP_STORED)
pack("zip64.zip", zipfile.ZIP_DEFLATED, True)
with open("streamed.zip", "wb") as out: pack(Pipe(out), zipfile.ZIP_DEFLATED)
with open("streamed64.zip", "wb") as out: pack(Pipe(out), zipfile.ZIP_DEFLATED, True)
`;
  execFileSync("python3", ["-c", script], { cwd: parent });
  const archives = readdirSync(parent).filter((name) => name.endsWith(".zip"));
  t.equal(archives.length, 5);
  for (const archive of archives) {
    t.match(await host.accepts(t, readFileSync(join(parent, archive))), expected, archive);
  }
});

t.test("an archive of git, as source hosts make it", { skip: needs("git") }, async (t) => {
  const host = await marketplaceHost(t);
  const parent = temporaryFolder(t);
  const { empty: _empty, ...expected } = makeFolder(parent);
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@t", ...args], {
      cwd: join(parent, "tide-table-1.0.0"),
      maxBuffer: 2 ** 26,
    });
  git("init", "-q");
  git("add", ".");
  git("commit", "-qm", "one");
  const archive = git("archive", "--format=zip", "--prefix=tide-table-1.0.0/", "HEAD");
  t.match(await host.accepts(t, archive), expected);
});
