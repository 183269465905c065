// Holds: which version of a trust root a host takes (lib/agent/sources/trust-root.ts, lib/artifact/trust/root.ts)
/** Two versions N+1, both signed by enough keys: a host has one of them, and its hub the other one. */
import t from "tap";
import { heldKey } from "../../support/forged/roots.ts";
import { followingHost, rootedProject, rootFile } from "../../support/host/root-host.ts";

t.test("a host goes on with its own version, and both are healed by the one after", async (t) => {
  const [first, here, there, last] = [heldKey(), heldKey(), heldKey(), heldKey()];
  const project = await rootedProject(t, first);
  const { chain, publishRoot, release } = project;
  await publishRoot(chain.version(1, [first]));
  const [one, other] = [await followingHost(project, first), await followingHost(project, first)];
  one.choice.file = await rootFile(one.outside, 2, chain.version(2, [here]));
  t.match(await one.check(), { outcome: "current" });
  await publishRoot(chain.version(2, [there], { by: chain.holders.slice(1) }));
  t.match(await other.check(), { outcome: "current" });
  t.match(await one.check(), { outcome: "current" });
  t.strictSame([await one.version(), await other.version()], [2, 2]);
  t.strictSame([one.refusals(), other.refusals()], [[], []]);

  await release("1.1.0", there);
  t.match(await other.check(), { outcome: "deployed", version: "1.1.0" });
  t.match(await one.check(), { outcome: "failed", error: { code: "signer_untrusted" } }, "its version names another");

  await publishRoot(chain.version(3, [there, last]));
  t.match(await other.check(), { outcome: "current", version: "1.1.0" });
  t.match(await one.check(), { outcome: "deployed", version: "1.1.0" }, "what it refused leaves quarantine");
  t.strictSame([await one.version(), await other.version()], [3, 3]);
  await release("1.2.0", last);
  for (const host of [one, other]) t.match(await host.check(), { outcome: "deployed", version: "1.2.0" });
});
