import { linkSync, mkdirSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import t from "tap";
import { giveFolder } from "../../../lib/support/owned-folder.ts";

/** A runtime that runs as root gives data/ to the sandbox's user: nothing outside of data/ may change hands. */

const skip = process.getuid?.() !== 0 && "only root gives files away";
const user = { uid: 65534, gid: 65534 };

t.test("what lies in data/ is given away, and where its links lead is not", { skip }, async (t) => {
  const folder = t.testdir({ data: { file: "1", deep: { er: { file: "2" } } }, outside: { file: "3" } });
  symlinkSync("../outside", join(folder, "data/folder-link"));
  symlinkSync("../outside/file", join(folder, "data/file-link"));
  linkSync(join(folder, "outside/file"), join(folder, "data/hard-link"));
  await giveFolder(join(folder, "data"), user);
  for (const path of ["data", "data/file", "data/deep", "data/deep/er", "data/deep/er/file"]) {
    t.equal(statSync(join(folder, path)).uid, user.uid, path);
  }
  for (const path of ["outside", "outside/file"]) t.equal(statSync(join(folder, path)).uid, 0, path);
});

t.test("a folder that is swapped for a link while data/ is given away leads nowhere", { skip }, async (t) => {
  const folder = t.testdir({ data: { z: {} }, outside: {} });
  for (let file = 0; file < 200; file++) writeFileSync(join(folder, "outside", `f${file}`), "");
  mkdirSync(join(folder, "spare"));
  for (let file = 0; file < 50; file++) writeFileSync(join(folder, "data/z", `f${file}`), "");
  symlinkSync(join(folder, "outside"), join(folder, "lure"));
  // Another process of the sandbox's user, which flips as fast as it can.
  const flipper = new Worker(
    `const { renameSync } = require("node:fs"); const f = ${JSON.stringify(folder)};
     for (;;) { try { renameSync(f + "/data/z", f + "/held"); renameSync(f + "/lure", f + "/data/z");
       renameSync(f + "/data/z", f + "/lure"); renameSync(f + "/held", f + "/data/z"); } catch {} }`,
    { eval: true, execArgv: [] },
  );
  t.teardown(() => flipper.terminate());
  for (let round = 0; round < 300; round++) await giveFolder(join(folder, "data"), user);
  await flipper.terminate();
  for (let file = 0; file < 200; file++) t.equal(statSync(join(folder, "outside", `f${file}`)).uid, 0);
  t.equal(statSync(join(folder, "outside")).uid, 0);
  rmSync(join(folder, "lure"), { force: true });
});
