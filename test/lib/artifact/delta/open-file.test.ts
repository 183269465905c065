import { appendFileSync, renameSync, rmSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import t, { type Test } from "tap";
import { openFile } from "../../../../lib/artifact/delta/open-file.ts";
import { DEFAULT_LIMITS } from "../../../../lib/artifact/limits.ts";
import { sealProject } from "../../../../lib/artifact/project/seal.ts";
import { deltaBetween, keysOf, SEED, writeVersion } from "../../../support/forged/delta-trees.ts";
import { snapshot } from "../../../support/host/attacked-host.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

const NOISE = Buffer.from(Array.from({ length: 200_000 }, (_, index) => (index * 2_654_435_761) >>> 24));

/** Two versions as full artifacts, the delta between them, and the first one unpacked. */
async function opened(t: Test) {
  const folder = temporaryFolder(t);
  const from = await writeVersion(join(folder, "a"), "1.0.0", {
    files: { "plugins/demo/noise": NOISE, "plugins/demo/old": "x", "plugins/demo/.env": "", empty: null },
  });
  const to = await writeVersion(join(folder, "b"), "1.1.0", {
    files: {
      "plugins/demo/noise": Buffer.concat([NOISE, Buffer.from("more")]),
      "plugins/demo/new": "12345",
      empty: null,
    },
  });
  const [older, newer] = await Promise.all(
    [from, to].map(({ project }) => {
      const output = join(folder, `${project.manifest.version}.xdeploy`);
      return sealProject(project, { output, seed: SEED, level: 3 });
    }),
  );
  const delta = await deltaBetween(folder, from, to);
  const signal = new AbortController().signal;
  const open = (artifact: typeof delta, more: { base?: string; out?: string } = {}) =>
    openFile(artifact.path, { ...keysOf(artifact), limits: DEFAULT_LIMITS, signal, ...more });
  const base = join(folder, "tree-1.0.0");
  await open(older!, { out: base });
  return { folder, delta, newer: newer!, older: older!, base, open };
}

t.test("a delta is inspected, and completed from the tree of its base", async (t) => {
  const { folder, delta, newer, base, open } = await opened(t);
  t.match(await open(delta), {
    manifest: { version: "1.1.0" },
    delta: { base: { version: "1.0.0" }, written: 2, dropped: 1 },
  });
  t.match(await open(delta, { base }), { delta: { base: { version: "1.0.0" } } }, "verified, and nothing is left");
  const [out, full] = [join(folder, "out"), join(folder, "full")];
  await open(delta, { base, out });
  t.match(await open(newer, { out: full }), { delta: null });
  t.strictSame(snapshot(out), snapshot(full), "the tree is the full artifact's");
  await t.rejects(open(delta, { base, out }), { code: "usage", message: /exists already/ });
});

t.test("a delta without its base, or with a wrong one, makes no tree", async (t) => {
  const { folder, delta, newer, older, base, open } = await opened(t);
  const out = join(folder, "out");
  await t.rejects(open(delta, { out }), { code: "usage", message: /needs --base, the tree of 1\.0\.0/ });
  await t.rejects(open(newer, { base, out }), { code: "delta_invalid", message: /has no delta\.ndjson/ });
  await t.rejects(open(delta, { base: join(folder, "nowhere"), out }), { code: "usage", message: /has no manifest/ });
  const other = join(folder, "tree-1.1.0");
  await open(newer, { out: other });
  await t.rejects(open(delta, { base: other, out }), {
    code: "delta_invalid",
    message: /made for 1\.0\.0|made for "1/,
  });
  appendFileSync(join(base, "plugins/demo/old"), "changed");
  await t.rejects(open(delta, { base, out }), { code: "delta_base_changed" });
  rmSync(base, { recursive: true });
  await open(older, { out: base });
  renameSync(join(base, "plugins/demo/old"), join(base, "plugins/demo/.hidden"));
  await t.rejects(open(delta, { base, out }), { code: "delta_base_changed" });
  t.notOk(
    (await readdir(folder)).some((name) => name.includes("out")),
    "nothing half-done stays",
  );
});
