import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { deploy } from "../../../../lib/agent/deployment/deploy.ts";
import { DEPLOY_DEFAULTS } from "../../../../lib/agent/deployment/run.ts";
import { readJournal } from "../../../../lib/releases/journal.ts";
import { switchRelease } from "../../../../lib/releases/switch.ts";
import { GIVEN_TARGET as TARGET, INSTALL, sourceOf } from "../../../support/host/given-source.ts";
import { install, layoutOf, prepareRelease } from "../../../support/host/project-root.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

const options = (root: string) => ({
  ...DEPLOY_DEFAULTS,
  projectRoot: root,
  hostId: "host",
  supervisor: { name: "none" as const },
});

t.test("a journal that this program did not write stops everything, and nothing is swept or undone", async (t) => {
  const root = temporaryFolder(t);
  const layout = layoutOf(root);
  await install(await prepareRelease(layout, TARGET, "1.0.0", { "plugins/a/version": "1.0.0" }));
  const half = await prepareRelease(layout, TARGET, "2.0.0", { "plugins/a/version": "2.0.0" });
  await switchRelease(half.journal, half);
  const entry = JSON.parse(await readFile(layout.journal, "utf8")) as Record<string, unknown>;
  const bad: Record<string, string> = {
    "another format": JSON.stringify({ ...entry, v: 2 }),
    "no JSON": "",
    "a phase that is not known": JSON.stringify({ ...entry, phase: "dreaming" }),
    "a release outside of its folder": JSON.stringify({ ...entry, release: "../../../../victim" }),
    "a hidden release": JSON.stringify({ ...entry, previous: ".staging-x" }),
    "a target outside of its folder": JSON.stringify({ ...entry, target: "project-../x" }),
    "an id with dots": JSON.stringify({ ...entry, items: [{ section: "plugins", id: "../x" }] }),
    "a deployment id with dots": JSON.stringify({ ...entry, deployment_id: "../../x" }),
    "an environment file elsewhere": JSON.stringify({ ...entry, env_files: ["../../x"] }),
  };
  for (const [what, text] of Object.entries(bad)) {
    await writeFile(layout.journal, text);
    const releases = await readdir(layout.releases(TARGET));
    await t.rejects(readJournal(layout), { code: "journal_unreadable", exitCode: 1 }, what);
    const result = await deploy(sourceOf("3.0.0", INSTALL), options(root), () => {});
    t.match(result, { status: "failed", error: { code: "journal_unreadable" } }, what);
    t.equal(await readFile(layout.journal, "utf8"), text, "the journal stays");
    t.same(await readdir(layout.releases(TARGET)), releases, "and so do the releases");
    t.equal(await readFile(join(root, "plugins/a/version"), "utf8"), "2.0.0");
  }
  await writeFile(layout.journal, JSON.stringify(entry));
  t.match(await deploy(sourceOf("3.0.0", INSTALL), options(root), () => {}), { outcome: "deployed" });
});
