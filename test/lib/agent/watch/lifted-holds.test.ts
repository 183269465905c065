// Holds: which holds count once the operator has lifted their rule (lib/agent/watch/target-on-disk.ts)
import t from "tap";
import { deploy } from "../../../../lib/agent/deployment/deploy.ts";
import { DEPLOY_DEFAULTS, type DeployOptions } from "../../../../lib/agent/deployment/run.ts";
import { WatchMemory } from "../../../../lib/agent/watch/state.ts";
import { decisionFacts, lookAt } from "../../../../lib/agent/watch/target-on-disk.ts";
import { grantsDigest, settingsDigest, writeHeld } from "../../../../lib/releases/holds.ts";
import { layoutOf } from "../../../../lib/releases/layout.ts";
import { currentName } from "../../../../lib/releases/release.ts";
import { GIVEN_TARGET, INSTALL, sourceOf } from "../../../support/host/given-source.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

const SEEN = "2026-01-01T00:00:00.000Z";
const SOONER = "2998-01-01T00:00:00.000Z";
const LATER = "2999-01-01T00:00:00.000Z";

t.test("a hold counts while its rule does: consent, a policy, and an operator who sends settings", async (t) => {
  const root = temporaryFolder(t);
  const layout = layoutOf(root);
  const plain = { ...DEPLOY_DEFAULTS, projectRoot: root, hostId: "host", supervisor: { name: "none" as const } };
  await deploy(sourceOf("1.0.0", INSTALL), plain, () => undefined);
  const held = { version: "2.0.0", identity: null, at: SEEN, message: "It waits." };
  const over = (await currentName(layout, GIVEN_TARGET))!;
  const settings = await settingsDigest(layout, GIVEN_TARGET, []);
  const grants = await grantsDigest(layout);
  await writeHeld(layout, GIVEN_TARGET, "rights", { ...held, over, running_version: "1.0.0", rights: ["network"] });
  await writeHeld(layout, GIVEN_TARGET, "policy", { ...held, again: LATER });
  await writeHeld(layout, GIVEN_TARGET, "application", { ...held, grants, again: SOONER });
  await writeHeld(layout, GIVEN_TARGET, "settings", { ...held, apps: [], settings });
  const memory = await new WatchMemory({ layout }, GIVEN_TARGET).read();

  const counting = async (more: Partial<DeployOptions>): Promise<string[]> => {
    const target = { source: () => sourceOf("2.0.0", INSTALL), options: { ...plain, ...more } };
    const { holds = [] } = await decisionFacts(layout, target, memory, { damaged: false });
    return holds.map(({ reason }) => reason);
  };
  t.strictSame(await counting({}), ["rights", "application"]);
  t.strictSame(await counting({ acceptRights: true }), ["application"]);
  t.strictSame(await counting({ policy: {} as DeployOptions["policy"] }), ["rights", "policy", "application"]);
  t.strictSame(await counting({ awaitsSettings: true }), ["rights", "application", "settings"]);

  t.equal(await lookAt(layout, GIVEN_TARGET, "policy"), Date.parse(SOONER), "the first time of both");
  for (const reason of ["rights", "settings", "paused", null] as const)
    t.equal(await lookAt(layout, GIVEN_TARGET, reason), Infinity, `${reason} has no time`);
});
