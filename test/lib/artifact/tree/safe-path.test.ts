import { posix, win32 } from "node:path";
import fc from "fast-check";
import t from "tap";
import { DEFAULT_LIMITS } from "../../../../lib/artifact/limits.ts";
import { NameRegistry } from "../../../../lib/artifact/tree/name-registry.ts";
import { quoted, SafeNames, safePath } from "../../../../lib/artifact/tree/safe-path.ts";
import { SealiftError } from "../../../../lib/contract/errors.ts";

const judged = (name: string, check = (one: string) => safePath(one, DEFAULT_LIMITS)): string => {
  try {
    return check(name);
  } catch (error) {
    if (error instanceof SealiftError) return error.code;
    throw error;
  }
};

t.test("names that are allowed, and the path that each becomes", async (t) => {
  const names: [string, string][] = [
    ["./", ""],
    [".", ""],
    ["a", "a"],
    ["./a", "a"],
    ["./a/", "a"],
    ["a/b c/d.e", "a/b c/d.e"],
    [".hidden/..data", ".hidden/..data"],
    ["a..b/c...d", "a..b/c...d"],
    ["caf\u00e9/\u6f22\u5b57/\u{1f600}", "caf\u00e9/\u6f22\u5b57/\u{1f600}"],
    ["con-fig/null.txt/auxiliary", "con-fig/null.txt/auxiliary"],
    ["com10", "com10"],
    ["ab:c", "ab:c"],
    [`${"x".repeat(255)}`, "x".repeat(255)],
  ];
  for (const [name, path] of names) t.equal(judged(name), path, quoted(name));
});

t.test("names that are refused", async (t) => {
  const names = [
    ["", "/", "//", "/a", "//a", ".//a", "a//b", "a//", "./.", "././a", "a/./b", "a/."],
    ["..", "../a", "a/..", "a/../b", "./../a", "a/b/../../../c"],
    ["a\\b", "..\\a", "C:", "C:a", "c:/a", "C:\\a", "./C:", "./c:/a", "a/d:b", "\\\\server\\share"],
    ["a\0b", "a\nb", "a\u001bb", "a\u007f", "a\u0085b", "\u009b"],
    ["a.", "a ", "a./b", "a /b", "dir./file", "..."],
    ["con", "CON", "nul.txt", "a/Aux/b", "prn", "COM1", "com\u00b9.log", "lpt9.tar.gz", "./nul"],
    ["\ud800", "a\udc00b", "a\ufffdb"],
    ["x".repeat(256), "\u00e9".repeat(128), `a/${"x".repeat(300)}/b`],
  ].flat();
  for (const name of names) t.equal(judged(name), "member_unsafe", quoted(name));
});

t.test("depth and length are limits, counted in components and bytes", async (t) => {
  const depth = (count: number) => Array(count).fill("d").join("/");
  t.equal(judged(depth(64)), depth(64));
  t.equal(judged(depth(65)), "limit_exceeded");
  const long = (bytes: number) => `${"n".repeat(200)}/`.repeat(10).slice(0, bytes - 1) + "n";
  t.equal(judged(long(1024)), long(1024));
  t.equal(judged(long(1025)), "limit_exceeded");
  t.equal(judged(`${"\u6f22".repeat(80)}/`.repeat(5)), "limit_exceeded", "bytes, not characters");
});

const nasty = fc.constantFrom(..."ab./\\:~ \0\n", "..", "./", "../", "//", "C:", "con", "\u00e9", "\ufffd", "\u202e");
const names = fc.oneof(
  fc.array(nasty, { maxLength: 12 }).map((parts) => parts.join("")),
  fc.string({ unit: "binary" }),
);

t.test("whatever passes stays inside its folder, on POSIX and on Windows", async (t) => {
  fc.assert(
    fc.property(names, (name) => {
      let path: string;
      try {
        path = safePath(name, DEFAULT_LIMITS);
      } catch (error) {
        return error instanceof SealiftError && ["member_unsafe", "limit_exceeded"].includes(error.code);
      }
      const onPosix = posix.resolve("/staging", path);
      const onWindows = win32.resolve("D:\\staging", path);
      return (
        (onPosix === "/staging" || onPosix.startsWith("/staging/")) &&
        (onWindows === "D:\\staging" || onWindows.startsWith("D:\\staging\\")) &&
        !/[\u0000-\u001f]/.test(path) &&
        safePath(path === "" ? "." : path, DEFAULT_LIMITS) === path
      );
    }),
    { numRuns: 3000 },
  );
  t.pass();
});

t.test("the names of an archive, one after the other, are judged as each of them alone is", async (t) => {
  const folder = fc.constantFrom(
    "",
    "./",
    "a/",
    "./a/",
    "./a/b/",
    "/",
    "../",
    "a//",
    "con/",
    "\u00e9/",
    `${"n".repeat(1020)}/`,
  );
  const plain = fc.constantFrom(
    "f.txt",
    "con",
    "aux.txt",
    "COM1",
    ".env",
    "a.",
    "a ",
    "..",
    ".",
    "",
    "x".repeat(300),
    "-",
  );
  const sequence = fc.array(fc.tuple(folder, fc.oneof(plain, names)), { maxLength: 12 });
  fc.assert(
    fc.property(sequence, (members) => {
      const archive = new SafeNames(DEFAULT_LIMITS);
      return members.every(([parent, last]) => {
        const name = parent + last;
        return judged(name, (one) => archive.path(one)) === judged(name);
      });
    }),
    { numRuns: 2000 },
  );
  t.pass();
});

const register = (...members: [name: string, type: "file" | "folder"][]): string => {
  const registry = new NameRegistry();
  try {
    for (const [name, type] of members) registry.add(name, type);
    return "fine";
  } catch (error) {
    if (error instanceof SealiftError) return error.code;
    throw error;
  }
};

t.test("members that would land on each other are refused, in whatever order they come", async (t) => {
  const pairs: [string, "file" | "folder", string, "file" | "folder"][] = [
    ["a", "file", "a", "file"],
    ["a", "folder", "a", "folder"],
    ["a", "file", "a", "folder"],
    ["a", "file", "a/b", "file"],
    ["a", "file", "A", "file"],
    ["a/x", "file", "A/y", "file"],
    ["a", "folder", "A/y", "file"],
    ["caf\u00e9", "file", "cafe\u0301", "file"],
    ["CAF\u00c9", "file", "cafe\u0301", "file"],
    ["stra\u00dfe", "file", "STRASSE", "file"],
    ["\u0130", "file", "i\u0307", "file"],
  ];
  for (const [one, oneType, other, otherType] of pairs) {
    t.equal(register([one, oneType], [other, otherType]), "member_duplicate", `${quoted(one)}, ${quoted(other)}`);
    t.equal(register([other, otherType], [one, oneType]), "member_duplicate", `${quoted(other)}, ${quoted(one)}`);
  }
});

t.test("members that do not meet are all accepted", async (t) => {
  t.equal(register(["a", "folder"], ["a/b", "file"], ["a/c", "folder"], ["a/c/d", "file"]), "fine");
  t.equal(register(["a/b", "file"], ["a", "folder"]), "fine", "a folder after what it holds");
  t.equal(register(["a/b/c", "file"], ["a/b/d", "file"], ["ab", "file"]), "fine");
});

t.test("a name in a message shows no control characters and is cut", async (t) => {
  t.equal(quoted("a\u001b[2J\n\u202e\u2028"), '"a\\u001b[2J\\n\\u202e\\u2028"');
  t.ok(quoted("x".repeat(10_000)).length < 250);
});
