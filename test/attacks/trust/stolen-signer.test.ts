// Holds: which signer of a trust root counts (lib/agent/sources/trust.ts)
/**
 * A thief has the key of a signer, and the hub. From the moment on that a host has a root that no longer names the key,
 * nothing that it signs is installed there.
 */
import t from "tap";
import { heldKey } from "../../support/forged/roots.ts";
import { rootedProject, rootFile } from "../../support/host/root-host.ts";

t.test("what a dropped signer signs is refused and put into quarantine, and what ran runs on", async (t) => {
  const [stolen, next] = [heldKey(), heldKey()];
  const { chain, release, publishRoot, host, wire } = await rootedProject(t, stolen);
  await publishRoot(chain.version(1, [stolen]));
  const one = await host();
  one.choice.file = await rootFile(one.outside, 1, chain.version(1, [stolen]));
  t.match(await one.check(), { outcome: "deployed", version: "1.0.0" });
  t.equal(await one.version(), 1);

  // The owner cannot reach the thief's hub any more: the operator brings the file.
  one.choice.file = await rootFile(one.outside, 2, chain.version(2, [next]));
  t.match(await one.check(), { outcome: "current", version: "1.0.0" });
  t.equal(await one.version(), 2);
  await release("1.1.0", stolen);
  t.match(await one.check(), { outcome: "failed", version: "1.1.0", error: { code: "signer_untrusted", exitCode: 4 } });
  t.strictSame(await one.quarantined(), ["1.1.0"]);
  t.match(await one.check(), { outcome: "held" }, "it is not tried again");
  t.match(await one.deploy("1.1.0"), { outcome: "failed", error: { code: "signer_untrusted" } }, "nor by hand");
  t.match(await one.deploy("1.0.0", { reinstall: true }), { outcome: "failed", error: { code: "signer_untrusted" } });
  t.equal(await one.running(), "1.0.0");

  // A hub that says there is no root, or the first one, takes nothing back.
  for (const named of [null, 1]) {
    wire.named = named;
    t.match(await one.deploy("1.1.0"), { outcome: "failed", error: { code: "signer_untrusted" } });
    t.equal(await one.version(), 2);
  }
  const findings = await one.findings();
  t.ok(
    findings.some(({ message }) => message === "1.0.0 runs on, though version 2 no longer names its signer"),
    JSON.stringify(findings),
  );
});
