// Holds: what a kept release must meet before a host goes back to it (lib/agent/deployment/admit-kept.ts)
// Holds: whether the signer of a kept release counts now (lib/agent/sources/kept-signer.ts)
/**
 * A thief's version ran before the trust root dropped its signer. Nobody brings it back by going back: not a person
 * without saying so, not the watch's key, and not a hub that takes the newer version back.
 */
import t from "tap";
import { previewRollback } from "../../../lib/agent/deployment/preview.ts";
import { type KeptTarget, previousRelease, rollback } from "../../../lib/agent/deployment/rollback.ts";
import { readReports } from "../../../lib/agent/reports/report.ts";
import { goBack } from "../../../lib/agent/watch/check-result.ts";
import { DeploymentQueue } from "../../../lib/agent/watch/deployment-queue.ts";
import { heldKey } from "../../support/forged/roots.ts";
import { rootedProject, rootFile } from "../../support/host/root-host.ts";

const REFUSED = { outcome: "failed", error: { code: "signer_untrusted", exitCode: 4 } };

t.test("a release of a signer that the root dropped is not gone back to", async (t) => {
  const [owner, stolen] = [heldKey(), heldKey()];
  const { chain, release, host } = await rootedProject(t, stolen);
  const one = await host();
  one.choice.file = await rootFile(one.outside, 1, chain.version(1, [owner, stolen]));
  t.match(await one.check(), { outcome: "deployed", version: "1.0.0" });
  one.choice.file = await rootFile(one.outside, 2, chain.version(2, [owner]));
  await release("2.0.0", owner);
  t.match(await one.check(), { outcome: "deployed", version: "2.0.0" });

  const source = one.target.source("latest");
  const { kind, slug, trust, connection } = source;
  const kept: KeptTarget = { kind, slug, trust, connection, reporter: source };
  const back = (more: Partial<KeptTarget> = {}) =>
    rollback({ ...kept, ...more }, { ...one.target.options, durability: "none" }, () => undefined);
  for (const to of [undefined, "1.0.0"]) {
    const refused = await back({ to });
    t.match(refused, REFUSED);
    t.match(refused.error?.message, /version 2 of the trust root .* does not name/);
    t.match(
      refused.error?.hint,
      /^Nothing was switched.*rollback project:\S+ --to 1\.0\.0-\w+ --allow-untrusted-signer/,
    );
  }
  t.match(await previewRollback({ ...kept, to: "1.0.0" }, one.target.options, () => undefined), REFUSED);
  t.equal(await previousRelease(one.layout, kept), undefined, "a watch has nothing to go back to");
  const context = { deployments: new DeploymentQueue(), emit: () => undefined };
  t.match(await goBack(one.target, context, new AbortController().signal, true), REFUSED, "the watch's own way");
  t.equal(await one.running(), "2.0.0");

  t.match(await back({ allowUntrustedSigner: true }), { outcome: "deployed", version: "1.0.0" });
  const [report] = await readReports(one.layout, source.target, 1);
  t.match(report?.warnings, [/trust root .* does not name.*--allow-untrusted-signer/]);
});

t.test("an earlier release whose signer counts is gone back to instead, and pins count as a root does", async (t) => {
  const [owner, stolen] = [heldKey(), heldKey()];
  const { release, host } = await rootedProject(t, owner);
  const pinned = [owner, stolen].map(({ hex }) => Buffer.from(hex, "hex"));
  const one = await host({ pinned });
  t.match(await one.deploy(), { outcome: "deployed", version: "1.0.0" });
  await release("1.1.0", stolen);
  t.match(await one.deploy(), { outcome: "deployed", version: "1.1.0" });
  await release("2.0.0", owner);
  t.match(await one.deploy(), { outcome: "deployed", version: "2.0.0" });
  const source = one.target.source("latest");
  const kept: KeptTarget = { kind: "project", slug: source.slug, trust: { pinned: pinned.slice(0, 1) } };
  const options = { ...one.target.options, durability: "none" as const };
  t.match(await rollback({ ...kept, to: "1.1.0" }, options, () => undefined), REFUSED);
  t.match(await rollback(kept, options, () => undefined), { outcome: "deployed", version: "1.0.0" });
});
