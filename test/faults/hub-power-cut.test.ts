// Only in test:all: power cuts at every step.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";
import { explore, linesOf } from "../../scripts/crash/explore.ts";
import { publishScenario, rotateScenario } from "../../scripts/crash/hub.ts";
import { needs } from "../support/programs/optional.ts";

/** A part of `npm run crash`: the hub's own files and SQLite's, as strace has seen them. */
const skip = needs("strace");

function folderOf(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), "sealift-power-"));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

t.test("whatever a power cut leaves, every acknowledged version is there with its key", { skip }, async (t) => {
  const options = { durability: "full", limit: 20, seed: 1, folder: folderOf(t) } as const;
  t.same(linesOf(await explore(publishScenario(), options)).slice(1), []);
});

t.test("a power cut while the KEK is replaced loses no key", { skip }, async (t) => {
  const options = { durability: "full", limit: 20, seed: 1, folder: folderOf(t) } as const;
  t.same(linesOf(await explore(rotateScenario(), options)).slice(1), []);
});

t.test("on a disk that syncs nothing the same states show lost keys", { skip }, async (t) => {
  const options = { durability: "none", limit: 20, seed: 1, folder: folderOf(t) } as const;
  const { bad } = await explore(rotateScenario(), options);
  t.ok(bad > 0);
});
