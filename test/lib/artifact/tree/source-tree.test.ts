import { execFileSync } from "node:child_process";
import { linkSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import t, { type Test } from "tap";
import { DEFAULT_LIMITS } from "../../../../lib/artifact/limits.ts";
import { listSourceTree, NEVER_PACKED } from "../../../../lib/artifact/tree/source-tree.ts";
import { SealiftError } from "../../../../lib/contract/errors.ts";

const list = (root: string, include: string[] = [], limits = DEFAULT_LIMITS) =>
  listSourceTree(root, { include, limits });
const paths = (root: string, include?: string[]) => [...list(root, include).members].map(({ path }) => path);

function refusal(t: Test, root: string, limits = DEFAULT_LIMITS): SealiftError {
  try {
    list(root, [], limits);
  } catch (error) {
    if (error instanceof SealiftError) return error;
    throw error;
  }
  t.fail("it was accepted");
  throw new Error("unreachable");
}

/** A name for each pattern, and one that only looks like it. */
const MATCHES: Record<(typeof NEVER_PACKED)[number], [left: string, packed: string]> = {
  ".venv": [".venv", ".venvs"],
  venv: ["venv", "venv2"],
  ".git": [".git", ".gitignore"],
  node_modules: ["node_modules", "node_modules2"],
  __pycache__: ["__pycache__", "pycache"],
  ".pytest_cache": [".pytest_cache", ".pytest_cache2"],
  ".mypy_cache": [".mypy_cache", "mypy_cache"],
  ".ruff_cache": [".ruff_cache", "ruff_cache"],
  "*.pyc": ["a.pyc", "a.pyc.txt"],
  ".env": [".env", ".env.template"],
  "*.pem": [".pem", "pem"],
  "*.key": ["my.key", "key"],
  "*.p12": ["a.p12", "a.p121"],
  id_rsa: ["id_rsa", "id_rsa.pub"],
  id_ed25519: ["id_ed25519", "id_ed25519.pub"],
  "*.db": ["a.b.db", "db"],
  "*.sqlite": ["x.sqlite", "sqlite"],
  "*.sqlite3": ["x.sqlite3", "x.sqlite4"],
  ".sealift": [".sealift", "sealift"],
};

t.test(
  "every pattern that is never packed keeps a file, and a folder with its contents, out at any depth",
  async (t) => {
    t.strictSame(Object.keys(MATCHES), [...NEVER_PACKED]);
    for (const [pattern, [left, packed]] of Object.entries(MATCHES)) {
      const root = t.testdir({
        [left]: "secret",
        [packed]: "fine",
        deep: { er: { [left]: { inside: "secret" }, [packed]: "fine" } },
      });
      const tree = list(root);
      t.strictSame(
        [...tree.members].map(({ path }) => path).toSorted(),
        ["deep", "deep/er", `deep/er/${packed}`, packed].toSorted(),
        pattern,
      );
      t.strictSame(
        tree.leftOut.toSorted((a, b) => (a.path < b.path ? -1 : 1)),
        [
          { path: left, pattern },
          { path: `deep/er/${left}`, pattern },
        ].toSorted((a, b) => (a.path < b.path ? -1 : 1)),
        "and each is listed",
      );
      t.strictSame(list(root, [pattern]).leftOut, [], "include brings it back");
      t.strictSame(list(root, [pattern]).broughtBack.length, 2, "and that is listed, too");
      t.ok(paths(root, [pattern]).includes(`deep/er/${left}/inside`));
    }
  },
);

t.test("members are sorted by components, folders first, with what is needed to find changes", async (t) => {
  const root = t.testdir({ "a-b": { c: "1" }, a: { b: "22", empty: {} }, "\uff5e": "x", "\u{1f600}": "x", z: "" });
  const { members } = list(root);
  t.strictSame(
    [...members].map(({ path, type, size }) => [path, type, size]),
    [
      ["a", "folder", 0],
      ["a/b", "file", 2],
      ["a/empty", "folder", 0],
      ["a-b", "folder", 0],
      ["a-b/c", "file", 1],
      ["z", "file", 0],
      ["\uff5e", "file", 1],
      ["\u{1f600}", "file", 1],
    ],
  );
});

t.test("the executable bit is kept, and a manifest.json at the root is left to the publisher", async (t) => {
  const root = t.testdir({ "manifest.json": "{}", inside: { "manifest.json": "{}" } });
  writeFileSync(join(root, "tool"), "", { mode: 0o755 });
  writeFileSync(join(root, "text"), "", { mode: 0o644 });
  t.strictSame(
    [...list(root).members].map(({ path, executable }) => [path, executable]).filter(([path]) => path !== "inside"),
    [
      ["inside/manifest.json", false],
      ["text", false],
      ["tool", true],
    ],
  );
});

t.test("a link is refused and its path named, also a broken one and one to a folder", async (t) => {
  const root = t.testdir({ real: { file: "x" } });
  symlinkSync("real/file", join(root, "to-file"));
  symlinkSync("real", join(root, "to-folder"));
  symlinkSync("nowhere", join(root, "real", "broken"));
  const error = refusal(t, root);
  t.match(error, { kind: "UsageError", code: "source_link", exitCode: 2 });
  t.equal(error.faults?.length, 3, "all of them at once");
  for (const path of ["to-file", "to-folder", "real/broken"]) t.ok(error.message.includes(path), path);
});

t.test("a hard link is an ordinary file", async (t) => {
  const root = t.testdir({ one: "x" });
  linkSync(join(root, "one"), join(root, "two"));
  t.strictSame(paths(root), ["one", "two"]);
});

t.test("a pipe and a socket are refused", async (t) => {
  const root = t.testdir({});
  execFileSync("mkfifo", [join(root, "pipe")]);
  t.match(refusal(t, root), { code: "source_special" });
  const other = `/tmp/sealift-socket-${process.pid}`;
  mkdirSync(other, { recursive: true });
  const server = createServer().listen(join(other, "socket"));
  await new Promise((resolve) => server.once("listening", resolve));
  t.match(refusal(t, other), { code: "source_special" });
  await new Promise((resolve) => server.close(resolve));
  execFileSync("rm", ["-r", other]);
});

t.test("names that an agent would refuse, or that read otherwise, are refused at the publisher", async (t) => {
  const names = ["a\\b", "line\nbreak", "trailing.", "trailing ", "NUL", "c:evil", "\u001b[31m", "a\u202eb", "a\u2069"];
  for (const name of names) {
    const root = t.testdir({});
    writeFileSync(join(root, name), "");
    t.match(refusal(t, root), { kind: "UsageError", code: "source_unsafe" }, JSON.stringify(name));
  }
  const root = t.testdir({});
  writeFileSync(join(root, "x".repeat(200)), "");
  t.match(refusal(t, root, { ...DEFAULT_LIMITS, maxNameBytes: 100 }), { code: "source_unsafe" });
});

t.test("a name that is not valid UTF-8 is refused, not a defect", async (t) => {
  const root = t.testdir({ good: "x" });
  writeFileSync(Buffer.concat([Buffer.from(`${root}/bad-`), Buffer.from([0xff, 0xfe])]), "");
  t.match(refusal(t, root), { kind: "UsageError", code: "source_unsafe" });
});

t.test("names that some file systems hold equal are refused", async (t) => {
  for (const [one, other] of [
    ["File", "file"],
    ["caf\u00e9", "cafe\u0301"],
  ] as const) {
    t.match(refusal(t, t.testdir({ [one]: "1", [other]: "2" })), { code: "source_unsafe" }, one);
  }
});

t.test("more members than the limit are refused", async (t) => {
  const root = t.testdir({ a: "", b: "", c: "" });
  t.equal(list(root, [], { ...DEFAULT_LIMITS, maxEntries: 3 }).members.length, 3);
  t.match(refusal(t, root, { ...DEFAULT_LIMITS, maxEntries: 2 }), { code: "source_unsafe" });
});
