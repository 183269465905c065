import { join } from "node:path";
import t from "tap";
import { deploy } from "../../../../lib/agent/deployment/deploy.ts";
import { releaseDifferences } from "../../../../lib/agent/deployment/release-diff.ts";
import { DEPLOY_DEFAULTS } from "../../../../lib/agent/deployment/run.ts";
import { layoutOf } from "../../../../lib/releases/layout.ts";
import { listReleases } from "../../../../lib/releases/release.ts";
import { GIVEN_TARGET as TARGET, INSTALL, sourceOf } from "../../../support/host/given-source.ts";
import { plant } from "../../../support/host/project-root.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

const filesOf = (version: string, network: string, code: Record<string, string>) => ({
  "plugins/a/plugin.yaml": `name: a\nversion: ${version}\nnetwork: ${network}\n`,
  ...Object.fromEntries(Object.entries(code).map(([name, text]) => [`plugins/a/src/${name}`, text])),
});

const planOf = (steps: string) => `format_version: "1"\nproject_id: prj_0123456789\nversion: 1.0.0\nsteps:${steps}\n`;

t.test("two releases differ in files, in what their plugins may do, and in their plans", async (t) => {
  const root = temporaryFolder(t);
  const options = {
    ...DEPLOY_DEFAULTS,
    projectRoot: root,
    hostId: "host",
    supervisor: { name: "none" as const },
    acceptRights: true,
  };
  const first = filesOf("1.0.0", "false", { "main.js": "1", "old.js": "22", "same.js": "same" });
  const second = filesOf("1.1.0", '["example.org:443"]', { "main.js": "111", "new.js": "4444", "same.js": "same" });
  await deploy(sourceOf("1.0.0", INSTALL, { files: first }), options, () => undefined);
  await deploy(sourceOf("1.1.0", INSTALL, { files: second }), options, () => undefined);
  const layout = layoutOf(root);
  const [after, before] = await listReleases(layout, TARGET);
  // A project's release keeps what no step installed in `rest`.
  const plans = new Map([
    [before!, INSTALL],
    [after!, `${INSTALL}\n  - {id: up, action: restart, plugin: a}`],
  ]);
  for (const [{ name }, steps] of plans)
    await plant(join(layout.release(TARGET, name), "rest"), { "deployment/install.yaml": planOf(steps) });

  const found = await releaseDifferences(layout, TARGET, [before!, after!]);
  t.match(found, [
    { what: "right", change: "added", plugin: "a", right: "network: example.org:443" },
    { what: "step", change: "added", id: "up", action: "restart" },
    { what: "file", change: "changed", path: "plugins/a/plugin.yaml", before: 38, after: 52 },
    { what: "file", change: "changed", path: "plugins/a/src/main.js", before: 1, after: 3 },
    { what: "file", change: "added", path: "plugins/a/src/new.js", before: null, after: 4 },
    { what: "file", change: "removed", path: "plugins/a/src/old.js", before: 2, after: null },
  ]);
  t.equal(found!.length, 6);
  t.same(await releaseDifferences(layout, TARGET, [after!, after!]), []);
});
