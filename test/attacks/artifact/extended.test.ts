import { randomBytes } from "node:crypto";
import t from "tap";
import { projectTar, signedFile } from "../../support/forged/artifact.ts";
import { attackedHost } from "../../support/host/attacked-host.ts";

t.test("bytes behind an artifact are found", async (t) => {
  const host = await attackedHost(t);
  const version = host.nextVersion();
  const artifact = host.seal(projectTar(host.describe(version)));
  await host.publish(version, artifact);

  for (const added of [Buffer.alloc(1), Buffer.alloc(16), randomBytes(100_000), artifact.file]) {
    await t.test(`${added.length} more on the wire`, async (t) => {
      host.wire.tamper = (bytes) => Buffer.concat([bytes, added]);
      await host.refuses(t, version, { code: "signature_invalid" });
    });
  }
  host.wire.tamper = undefined;

  await t.test("even when the signer signed them along", async (t) => {
    const longer = signedFile(Buffer.concat([artifact.file, Buffer.alloc(16)]), host.signer, artifact.dek);
    await host.refusesArtifact(t, longer, { code: "decryption_failed" });
  });
});
