import { existsSync, statSync } from "node:fs";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { makeFolder, makePrivateFolder, missing, statsOf } from "../../../lib/support/files.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

t.test("a folder is made with those above it, once", async (t) => {
  const root = temporaryFolder(t);
  t.equal(await makeFolder(join(root, "a/b/c")), join(root, "a"));
  t.ok(existsSync(join(root, "a/b/c")));
  t.equal(await makeFolder(join(root, "a/b/c")), undefined);
  t.equal(await makeFolder(join(root, "a/b/d")), join(root, "a/b/d"));
  await symlink("a", join(root, "alias"));
  t.equal(await makeFolder(join(root, "alias")), undefined, "a link to a folder is as good as one");
});

t.test("a folder for its owner alone lies in folders that others may pass through", async (t) => {
  const root = temporaryFolder(t);
  await makePrivateFolder(join(root, "etc/keys"));
  const modes = [join(root, "etc/keys"), join(root, "etc")].map((path) => statSync(path).mode & 0o777);
  t.same(modes, [0o700, 0o777 & ~process.umask()]);
});

t.test("a folder that no file system would make is an error, not an endless loop", async (t) => {
  await t.rejects(makeFolder("/proc/sealift/below"), { code: "ENOENT" });
});

t.test("a file in the way is an error", async (t) => {
  const root = temporaryFolder(t);
  await writeFile(join(root, "file"), "");
  await t.rejects(makeFolder(join(root, "file")), { code: "EEXIST" });
  await t.rejects(makeFolder(join(root, "file/below")), { code: "ENOTDIR" });
});

t.test("only what does not exist has no stats", async (t) => {
  const root = temporaryFolder(t);
  t.equal(await statsOf(join(root, "nothing")), undefined);
  await mkdir(join(root, "folder"));
  t.ok((await statsOf(join(root, "folder")))?.isDirectory());
  await symlink("loop", join(root, "loop"));
  t.ok((await statsOf(join(root, "loop")))?.isSymbolicLink());
  await t.rejects(statsOf(join(root, "loop/below")), { code: "ELOOP" });
  t.ok(missing(Object.assign(new Error(), { code: "ENOTDIR" })));
  t.notOk(missing(Object.assign(new Error(), { code: "EACCES" })));
});
