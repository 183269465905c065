// Only in test:all: a slow line and a disk that fills up, half a minute.
// In a process of its own: it changes what the process believes of free space.
// Holds: whether bytes of an interrupted download are used (lib/agent/sources/kept-download.ts)
/** The place of kept bytes never costs a deployment its own, not even under a quota that the free space hides. */
import { randomBytes } from "node:crypto";
import { existsSync, promises } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import t, { type Test } from "tap";
import type { AgentEvent } from "../../../../lib/agent/base/events.ts";
import { deploy } from "../../../../lib/agent/deployment/deploy.ts";
import { DEPLOY_DEFAULTS } from "../../../../lib/agent/deployment/run.ts";
import { marketplaceSource } from "../../../../lib/agent/sources/marketplace.ts";
import type { Source } from "../../../../lib/agent/sources/source.ts";
import { layoutOf } from "../../../../lib/releases/layout.ts";
import { readQuarantine } from "../../../../lib/releases/quarantine.ts";
import { deltaFleet } from "../../../support/host/delta-fleet.ts";
import { mountMemory } from "../../../support/host/loop-file-system.ts";
import { startHub } from "../../../support/hub/harness.ts";
import { DEVELOPER_SECRET } from "../../../support/hub/marketplace-hub.ts";
import { publishedArchive } from "../../../support/hub/published.ts";
import { type SlowLine, startSlowLine } from "../../../support/hub/slow-line.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

// What statfs says of a folder whose user has a quota: the room of the whole disk.
const { statfs } = promises;
promises.statfs = (async (path: string) => ({ ...(await statfs(path)), bavail: 1e9, bsize: 4096 })) as never;
syncBuiltinESMExports();

/** Bytes that no compression makes fewer. */
const noise = randomBytes(3_000_000);
/** So slow that bytes are kept after two seconds, of twelve. */
const SLOW = 250_000;

async function project(t: Test): Promise<{ line: SlowLine; source: Source }> {
  const fleet = await deltaFleet(t);
  fleet.plant("plugins/demo/large.bin", noise);
  await fleet.publish("1.0.0");
  const line = await startSlowLine(t, () => fleet.hubUrl);
  return { line, source: fleet.sourceOf("1.0.0", { hubUrl: line.url }) };
}

async function plugin(t: Test): Promise<{ line: SlowLine; source: Source }> {
  const hub = await startHub(t, { rateLimits: false });
  const folder = temporaryFolder(t);
  const published = await publishedArchive(hub, "plugin", "tides", folder);
  await published.publish("1.0.0", { "large.bin": noise.toString("base64") });
  const line = await startSlowLine(t, () => hub.url);
  const source = marketplaceSource({
    ...{ hubUrl: line.url, apiKey: hub.adminKey, timeoutMs: 10_000, kind: "plugin", slug: "tides", version: "1.0.0" },
    ...{ signingSecret: DEVELOPER_SECRET, installPlan: `${folder}/tides.yaml`, symlinks: "refuse" },
  });
  return { line, source };
}

t.jobs = 8;
for (const [what, make, quota, isFetchedAgain] of [
  // The keeping, or the tree, or both meet the end of the room.
  ["a project's tree alone", project, 4_900_000, undefined],
  ["a project's tree alone", project, 5_500_000, true],
  ["a project's tree alone", project, 5_800_000, true],
  ["a plugin's archive and tree", plugin, 9_000_000, true],
] as const) {
  const mounted = mountMemory(t, quota);
  const skip = "reason" in mounted ? mounted.reason : false;
  t.test(`a quota of ${quota} bytes has room for ${what}`, { skip, buffered: true }, async (t) => {
    const { folder: projectRoot } = mounted as { folder: string };
    const { line, source } = await make(t);
    line.bytesPerSecond = SLOW;
    const options = {
      ...DEPLOY_DEFAULTS,
      ...{ projectRoot, hostId: "host", supervisor: { name: "none" as const }, durability: "none" as const },
    };
    const unusable: (AgentEvent & { event: "partial.unusable" })[] = [];
    const result = await deploy(source, options, (event) => {
      if (event.event !== "partial.unusable") return;
      unusable.push(event);
      line.bytesPerSecond = Infinity;
    });
    t.match(result, { outcome: "deployed" }, JSON.stringify(result.error));
    if (isFetchedAgain === true) t.match(unusable, [{ version: "1.0.0", code: "disk_full" }]);
    const layout = layoutOf(projectRoot);
    t.same(await readQuarantine(layout, source.target), []);
    t.notOk(existsSync(layout.partial(source.target)));
  });
}
