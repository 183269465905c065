// Holds: which signer of a trust root counts (lib/agent/sources/trust.ts)
/** A version that a signer's thief had fetched ahead, before a root dropped the signer: it is judged at the switch. */
import { dirname } from "node:path";
import t from "tap";
import { readAhead } from "../../../lib/releases/ahead.ts";
import { heldKey } from "../../support/forged/roots.ts";
import { followingHost, rootedProject, rootFile } from "../../support/host/root-host.ts";

t.test("what was fetched ahead is installed only if the root that counts then names its signer", async (t) => {
  const [stolen, next] = [heldKey(), heldKey()];
  const project = await rootedProject(t, stolen);
  const { chain, publishRoot, release } = project;
  await publishRoot(chain.version(1, [stolen]));
  const one = await followingHost(project, stolen);
  await release("1.1.0", stolen);
  const { layout, target } = one;
  const source = target.source("1.1.0");
  const context = { layout, target: source.target, emit: () => {}, signal: new AbortController().signal };
  t.match(await source.fetchAhead!(context), { version: "1.1.0" });
  t.match(await readAhead(layout, source.target), { version: "1.1.0" });

  one.choice.file = await rootFile(dirname(layout.root), 2, chain.version(2, [next]));
  t.match(await one.check(), { outcome: "failed", version: "1.1.0", error: { code: "signer_untrusted" } });
  t.equal(await one.running(), "1.0.0");
  t.strictSame(await one.quarantined(), ["1.1.0"]);
  await t.rejects(source.fetchAhead!(context), { code: "signer_untrusted" }, "nor is it fetched once more");
});
