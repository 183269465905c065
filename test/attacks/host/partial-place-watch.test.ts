// Holds: whether bytes of an interrupted download are used (lib/agent/sources/kept-download.ts)
/** A watch warns at most once of what stands in the place of partial downloads, and fetches ahead all the same. */
import { lstatSync, mkdirSync, readFileSync, renameSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import t, { type Test } from "tap";
import { DEPLOY_DEFAULTS } from "../../../lib/agent/deployment/run.ts";
import { AheadFetch } from "../../../lib/agent/watch/ahead.ts";
import type { TargetFacts } from "../../../lib/agent/watch/decide.ts";
import type { LoopContext, WatchTarget } from "../../../lib/agent/watch/target.ts";
import { layoutOf } from "../../../lib/releases/layout.ts";
import { mountMemory } from "../../support/host/loop-file-system.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const target = "project-tides" as const;
const OLD = new Date(Date.now() - 3_600_000);

/** Looks three times, as a watch does. @returns its warnings, and how often it went on to the fetch ahead */
async function look(root: string, fetchAhead: boolean) {
  const warnings: string[] = [];
  const emit: LoopContext["emit"] = (event) => void (event.event === "warning" && warnings.push(event.message));
  const ahead = new AheadFetch({ emit, deployments: undefined as never });
  const options = { ...DEPLOY_DEFAULTS, projectRoot: root, hostId: "host", supervisor: { name: "none" as const } };
  const watched = { name: "tides", fetchAhead, options, source: () => ({ target }) } as unknown as WatchTarget;
  let asked = 0;
  const facts = async (): Promise<TargetFacts> => {
    asked++;
    return { running: null, latest: { version: null } } as unknown as TargetFacts;
  };
  for (let looks = 0; looks < 3; looks++) await ahead.settle(watched, facts);
  return { warnings, asked };
}

function rootOf(t: Test) {
  const root = temporaryFolder(t);
  const { sealift } = layoutOf(root);
  mkdirSync(sealift);
  return { root, place: join(sealift, "partial") };
}

for (const fetchAhead of [false, true]) {
  const wish = fetchAhead ? "with a fetch ahead" : "without one";
  t.test(`a link in the place of partial/ is left alone at every look, ${wish}`, async (t) => {
    const { root, place } = rootOf(t);
    const outside = temporaryFolder(t);
    writeFileSync(join(outside, target), "mine");
    utimesSync(join(outside, target), OLD, OLD);
    symlinkSync(outside, place);
    t.same(await look(root, fetchAhead), { warnings: [], asked: fetchAhead ? 3 : 0 });
    t.ok(lstatSync(place).isSymbolicLink());
    t.equal(readFileSync(join(outside, target), "utf8"), "mine");
  });

  t.test(`so is a file, ${wish}`, async (t) => {
    const { root, place } = rootOf(t);
    writeFileSync(place, "x");
    t.same(await look(root, fetchAhead), { warnings: [], asked: fetchAhead ? 3 : 0 });
    t.equal(readFileSync(place, "utf8"), "x");
  });
}

const mounted = mountMemory(t, 1_000_000);
const skip = "reason" in mounted ? mounted.reason : false;
t.test("what cannot be removed is told once, and the fetch ahead goes on", { skip }, async (t) => {
  // A folder that a file system is mounted in cannot be removed.
  const { folder } = mounted as { folder: string };
  const { root, place } = rootOf(t);
  mkdirSync(place);
  const planted = join(place, target);
  renameSync(dirname(folder), planted);
  utimesSync(planted, OLD, OLD);
  const { warnings, asked } = await look(root, true);
  renameSync(planted, dirname(folder));
  t.equal(asked, 3);
  t.match(warnings, [/partial\/project-tides is of no use, and cannot be removed: /]);
});
