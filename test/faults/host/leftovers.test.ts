/** Temporary names that killed runs leave behind. */
import { mkdir, rename, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { deploy } from "../../../lib/agent/deployment/deploy.ts";
import { bootId } from "../../../lib/agent/deployment/interrupted.ts";
import { DEPLOY_DEFAULTS } from "../../../lib/agent/deployment/run.ts";
import { readReports } from "../../../lib/agent/reports/report.ts";
import { type Attempt, Journal } from "../../../lib/releases/journal.ts";
import { writeJsonFile } from "../../../lib/releases/json-file.ts";
import { readQuarantine } from "../../../lib/releases/quarantine.ts";
import { switchRelease } from "../../../lib/releases/switch.ts";
import { statsOf } from "../../../lib/support/files.ts";
import { GIVEN_TARGET as TARGET, INSTALL, sourceOf } from "../../support/host/given-source.ts";
import { layoutOf, plant, plugin, prepareRelease } from "../../support/host/project-root.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const options = (root: string) => ({
  ...DEPLOY_DEFAULTS,
  projectRoot: root,
  hostId: "host",
  supervisor: { name: "none" as const },
});
const HEX = "0123456789ab";

/** The paths of those that still stand. */
async function left(paths: readonly string[]): Promise<string[]> {
  const stats = await Promise.all(paths.map(statsOf));
  return paths.filter((_, index) => stats[index] !== undefined);
}

t.test("the next deployment removes the temporary names of killed runs, and nothing else", async (t) => {
  const root = temporaryFolder(t);
  const { sealift } = layoutOf(root);
  t.match(await deploy(sourceOf("1.0.0", INSTALL), options(root), () => {}), { outcome: "deployed" });
  await mkdir(join(root, "extensions"), { recursive: true });

  const files = [
    join(sealift, `.journal.json.${HEX}.tmp`),
    join(sealift, "lock.holder"),
    ...["", "deployed-", "rights-"].map((kind) => join(sealift, "state", `.${kind}${TARGET}.json.${HEX}.tmp`)),
    join(sealift, "reports", TARGET, `.20260101T000000000Z-1.json.${HEX}.tmp`),
    join(sealift, "reports", TARGET, "archive.ndjson.gz.tmp"),
  ];
  const links = [join(root, "plugins"), join(root, "extensions"), join(sealift, "current")].map((folder) =>
    join(folder, `.link-${HEX}`),
  );
  for (const path of files) await writeFile(path, "{");
  for (const path of links) await symlink("nowhere", path);
  const others = [
    join(root, "plugins", ".link-of-a-person"),
    join(root, "extensions", ".link-ffffffffffff"),
    join(sealift, ".other.json.0123456789ab.tmp"),
  ];
  for (const path of others) await writeFile(path, "kept");

  t.match(await deploy(sourceOf("1.0.0", INSTALL), options(root), () => {}), { outcome: "unchanged" });
  t.same(await left([...files, ...links]), []);
  t.same(await left(others), others);
});

t.test("seeds of a killed switch are removed from the plugin's data, and no link is followed", async (t) => {
  const root = temporaryFolder(t);
  const layout = layoutOf(root);
  const outside = temporaryFolder(t);
  const seed = `.seed-${HEX}`;
  await plant(outside, { [seed]: "kept", [`deep/${seed}`]: "kept" });

  // Killed inside the switch: its journal stays.
  const killed = await prepareRelease(layout, TARGET, "1.0.0", {
    "plugins/a/version": "1.0.0",
    "plugins/a/data/sub/deep/shipped.txt": "1",
    "plugins/a/data/led/deep/shipped.txt": "1",
  });
  await switchRelease(killed.journal, killed);
  const data = layout.data(plugin("a"));
  await plant(data, { [seed]: "1", [`sub/${seed}`]: "1", [`sub/deep/${seed}`]: "1", ".seed-of-a-person": "kept" });
  await rename(join(data, "led"), join(data, "own"));
  await symlink(outside, join(data, "led"));
  await mkdir(join(data, "sub", ".seed-ffffffffffff"));

  t.match(await deploy(sourceOf("1.1.0", INSTALL), options(root), () => {}), { outcome: "deployed" });
  t.same(await left([seed, `sub/${seed}`, `sub/deep/${seed}`].map((name) => join(data, name))), []);
  const kept = [
    join(outside, seed),
    join(outside, "deep", seed),
    join(data, ".seed-of-a-person"),
    join(data, "sub", ".seed-ffffffffffff"),
    join(data, "sub", "deep", "shipped.txt"),
  ];
  t.same(await left(kept), kept);
});

t.test(
  "a run that was killed between its journal and its release has one report, and condemns no version",
  async (t) => {
    const root = temporaryFolder(t);
    const layout = layoutOf(root);
    const killed: Attempt = {
      v: 1,
      deployment_id: "11111111-2222-3333-4444-555555555555",
      target: TARGET,
      ...{ kind: "project", slug: "prj_0123456789", host_id: "host", requested_version: "latest", identity: null },
      ...{ resolved_version: "1.0.0", started_at: "2026-01-01T00:00:00.000Z", release: "1.0.0-abcdef01" },
      boot_id: await bootId(),
    };
    const staging = layout.staging(TARGET, killed.release);
    await mkdir(staging, { recursive: true });
    await writeJsonFile(join(staging, "attempt.json"), killed);
    await Journal.begin(layout, killed, null);

    t.match(await deploy(sourceOf("1.1.0", INSTALL), options(root), () => {}), { outcome: "deployed" });
    const reports = await readReports(layout, TARGET, 10);
    t.match(
      reports.filter(({ deployment_id: id }) => id === killed.deployment_id),
      [{ status: "failed", code: "interrupted" }],
    );
    t.equal(reports.length, 2);
    t.same(await readQuarantine(layout, TARGET), []);
    t.same(await left([staging]), []);
  },
);
