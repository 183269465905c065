import { createPrivateKey, createPublicKey } from "node:crypto";
import t from "tap";
import { trustedSigner } from "../../../lib/agent/sources/trust.ts";
import { layoutOf } from "../../../lib/releases/layout.ts";
import { forgedArtifact, forgedFrame, forgedSigner, projectTar } from "../../support/forged/artifact.ts";
import { attackedHost } from "../../support/host/attacked-host.ts";

t.test("an artifact of another signer is refused, however genuine", async (t) => {
  const host = await attackedHost(t);
  const stranger = forgedSigner();
  const artifact = forgedArtifact(forgedFrame(projectTar(host.describe(host.nextVersion()))), stranger);

  await t.test("when it comes with the stranger's own key", async (t) => {
    await host.refusesArtifact(t, artifact, { code: "signer_untrusted" });
  });

  await t.test("also when several keys are pinned, of which any may sign", async (t) => {
    const pinned = [host.signer.publicKey, forgedSigner().publicKey];
    const layout = layoutOf(host.root);
    const decide = (offered: Uint8Array) => trustedSigner(layout, "project-prj_0123456789", { pinned }, offered);
    for (const key of pinned) t.strictSame((await decide(key)).publicKey, key);
    await t.rejects(decide(stranger.publicKey), { code: "signer_untrusted" });
  });

  await t.test("when everybody could have signed it: with the pinned public key as the private one", async (t) => {
    const seed = Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), host.signer.publicKey]);
    const privateKey = createPrivateKey({ key: seed, format: "der", type: "pkcs8" });
    const publicKey = createPublicKey(privateKey).export({ format: "der", type: "spki" }).subarray(-32);
    const pinned = { pinned: [host.signer.publicKey] };
    await t.rejects(trustedSigner(layoutOf(host.root), "project-prj_0123456789", pinned, publicKey), {
      code: "signer_untrusted",
      message: /signed with the pinned public key as a private one/,
    });
  });

  await t.test("when a signer was trusted on first use", async (t) => {
    const trust = { trust: { onFirstUse: true as const } };
    const version = host.nextVersion();
    await host.publish(version, host.seal(projectTar(host.describe(version))));
    t.equal((await host.deploy(version, { source: trust })).outcome, "deployed", "the first use");
    await host.refusesArtifact(t, artifact, { code: "trust_changed" }, { source: trust });
  });

  await t.test("and a first use is not remembered when its artifact turns out to be bad", async (t) => {
    const { root } = host;
    const version = host.nextVersion();
    await host.publish(version, artifact);
    const fresh = `${root}-fresh`;
    const variant = { source: { trust: { onFirstUse: true as const } }, options: { projectRoot: fresh } };
    host.wire.tamper = (bytes) => bytes.fill(7, 20, 30);
    t.equal((await host.deploy(version, variant)).error?.code, "signature_invalid");
    host.wire.tamper = undefined;
    const next = host.nextVersion();
    await host.publish(next, host.seal(projectTar(host.describe(next))));
    t.equal((await host.deploy(next, variant)).outcome, "deployed", "another signer may still be the first");
  });
});
