// Holds: settings that a run has replaced, until it is settled (lib/releases/replaced-env.ts)
import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t, { type Test } from "tap";
import { targetName } from "../../../lib/contract/target.ts";
import { Journal } from "../../../lib/releases/journal.ts";
import { recoverJournal } from "../../../lib/releases/recovery.ts";
import { forgetFormerEnvFiles, replaceEnvFile } from "../../../lib/releases/replaced-env.ts";
import { layoutOf } from "../../support/host/project-root.ts";

const ATTEMPT = {
  v: 1,
  ...{
    deployment_id: "d1",
    target: targetName({ kind: "project", slug: "p" }),
    kind: "project" as const,
    slug: "p",
    host_id: "h",
  },
  ...{ requested_version: "settings", resolved_version: "1.0.0", started_at: "2026-01-01T00:00:00Z" },
  release: "1.0.0-1",
} as const;

async function root(t: Test) {
  const layout = layoutOf(t.testdir({ apps: {} }));
  await mkdir(layout.sealift, { recursive: true });
  const journal = await Journal.begin(layout, ATTEMPT, ATTEMPT.release, { keepsRelease: true, isSettings: true });
  const file = join(layout.root, "apps/web.env");
  const left = async () => (await readdir(join(layout.sealift, "state"))).filter((name) => name.startsWith("former-"));
  return { layout, journal, file, left };
}

t.test("a run that was killed leaves the former settings, however often it is ended", async (t) => {
  const { layout, journal, file, left } = await root(t);
  await writeFile(file, "A=1\n", { mode: 0o600 });
  await replaceEnvFile(journal, "apps/web", "A=2\n");
  t.equal(await readFile(file, "utf8"), "A=2\n");
  t.equal((await stat(file)).mode & 0o777, 0o600);
  // Ended once, and killed before the journal was removed.
  await t.rejects(
    recoverJournal(layout, async () => {
      throw new Error("killed");
    }),
  );
  t.equal(await readFile(file, "utf8"), "A=1\n");
  await recoverJournal(layout);
  t.equal(await readFile(file, "utf8"), "A=1\n");
  t.strictSame(await left(), []);
});

t.test("where there were none, none are left", async (t) => {
  const { layout, journal, file, left } = await root(t);
  await replaceEnvFile(journal, "apps/web", "A=2\n");
  t.equal(await readFile(file, "utf8"), "A=2\n");
  await recoverJournal(layout);
  await t.rejects(stat(file), { code: "ENOENT" }, "an empty file would keep a template away");
  t.strictSame(await left().catch(() => []), []);
});

t.test("a settled run keeps the new ones, and nothing of the former", async (t) => {
  const { journal, file, left } = await root(t);
  await writeFile(file, "A=1\n");
  await replaceEnvFile(journal, "apps/web", "A=2\n");
  await forgetFormerEnvFiles(journal);
  await journal.clear();
  t.equal(await readFile(file, "utf8"), "A=2\n");
  t.strictSame(await left(), []);
});
