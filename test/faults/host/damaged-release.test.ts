// Only in test:all: a release is damaged in each way.
/** Remains of a current release after a power cut: files that are empty, cut short, missing, or links that are gone. */
import { appendFile, chmod, readFile, rm, truncate, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t, { type Test } from "tap";
import type { AgentEvent } from "../../../lib/agent/base/events.ts";
import { deploy } from "../../../lib/agent/deployment/deploy.ts";
import { DEPLOY_DEFAULTS } from "../../../lib/agent/deployment/run.ts";
import { examine } from "../../../lib/agent/doctor.ts";
import type { Finding } from "../../../lib/agent/finding.ts";
import { CONTENTS_FILE } from "../../../lib/releases/contents.ts";
import { currentName } from "../../../lib/releases/release.ts";
import { GIVEN_TARGET as TARGET, INSTALL, sourceOf } from "../../support/host/given-source.ts";
import { layoutOf } from "../../support/host/project-root.ts";
import { givenTarget, watching } from "../../support/host/watching.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const files = { "plugins/a/version": "1.0.0", "plugins/a/deep/er/file": "content" };

async function runningHost(t: Test) {
  const root = temporaryFolder(t);
  const warnings: string[] = [];
  const run = () =>
    deploy(
      sourceOf("1.0.0", INSTALL, { files }),
      { ...DEPLOY_DEFAULTS, projectRoot: root, hostId: "host", supervisor: { name: "none" } },
      (event: AgentEvent) => void (event.event === "warning" && warnings.push(event.message)),
    );
  await run();
  return { root, layout: layoutOf(root), run, warnings };
}

async function targetFinding(projectRoot: string, verify: boolean): Promise<Finding | undefined> {
  for await (const finding of examine({ projectRoot, supervisor: { name: "none" }, verify }))
    if (finding.check === `target ${TARGET}`) return finding;
  return undefined;
}

const damages: Record<string, (root: string) => Promise<void>> = {
  "an empty file": (root) => truncate(join(root, "plugins/a/deep/er/file"), 0),
  "a missing file": (root) => rm(join(root, "plugins/a/version")),
  "a missing folder": (root) => rm(join(root, "plugins/a/deep"), { recursive: true }),
  "a changed file": (root) => writeFile(join(root, "plugins/a/version"), "6.6.6"),
  "a missing link": (root) => rm(join(root, "plugins/a")),
  "an empty list of files": async (root) => {
    const layout = layoutOf(root);
    await truncate(join(layout.release(TARGET, (await currentName(layout, TARGET))!), CONTENTS_FILE), 0);
  },
  "a torn record": async (root) => {
    const layout = layoutOf(root);
    await truncate(join(layout.release(TARGET, (await currentName(layout, TARGET))!), "release.json"), 10);
  },
};

for (const [what, damage] of Object.entries(damages)) {
  t.test(`${what} of the running release is noticed, and the release is fetched again in the same run`, async (t) => {
    const { root, run } = await runningHost(t);
    t.match(await run(), { outcome: "unchanged" });
    t.match(await targetFinding(root, false), { status: "ok" });
    await damage(root);
    t.not((await targetFinding(root, false))?.status, "ok");
    t.match(await run(), { outcome: "deployed", version: "1.0.0" });
    for (const [path, content] of Object.entries(files)) t.equal(await readFile(join(root, path), "utf8"), content);
    t.match(await run(), { outcome: "unchanged" });
    t.match(await targetFinding(root, true), { status: "ok" });
  });
}

t.test("bytes that changed behind size and time are found by doctor --verify", async (t) => {
  const { root } = await runningHost(t);
  const file = join(root, "plugins/a/version");
  const time = new Date("2026-01-01T00:00:00Z");
  const layout = layoutOf(root);
  const list = join(layout.release(TARGET, (await currentName(layout, TARGET))!), CONTENTS_FILE);
  const lines = (await readFile(list, "utf8")).split("\n");
  await writeFile(
    list,
    lines
      .map((line) =>
        line.includes("plugins/a/version")
          ? JSON.stringify({ ...(JSON.parse(line) as object), mtime_ms: time.getTime() })
          : line,
      )
      .join("\n"),
  );
  await writeFile(file, "9.9.9");
  await utimes(file, time, time);
  t.match(await targetFinding(root, false), { status: "ok" }, "the cheap look sees sizes and times");
  t.match(await targetFinding(root, true), { status: "failed", message: /plugins\/a\/version has other bytes/ });
});

t.test("files that a plugin adds and modes that an operator sets are not damage", async (t) => {
  const { root, run, warnings } = await runningHost(t);
  await appendFile(join(root, "plugins/a/data/own"), "own");
  await writeFile(join(root, "plugins/a/cache"), "added");
  await chmod(join(root, "plugins/a/version"), 0o600);
  t.match(await run(), { outcome: "unchanged" });
  t.same(warnings, []);
});

t.test("a watch that starts after a power cut repairs what runs, though the hub has nothing new", async (t) => {
  const { root } = await runningHost(t);
  await truncate(join(root, "plugins/a/version"), 0);
  const target = givenTarget(root, { given: () => ({ files }) });
  target.publish("1.0.0");
  const w = watching(t, [target]);
  await w.until("deploy.done", { outcome: "deployed", version: "1.0.0" });
  await w.stop();
  t.equal(await readFile(join(root, "plugins/a/version"), "utf8"), "1.0.0");
  t.equal(w.all("deploy.done").length, 1);
});
