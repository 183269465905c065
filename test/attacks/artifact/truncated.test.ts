import t from "tap";
import { forgedFrame, projectTar, signedFile } from "../../support/forged/artifact.ts";
import { attackedHost } from "../../support/host/attacked-host.ts";

t.test("an artifact that ends early is refused", async (t) => {
  const host = await attackedHost(t);
  const version = host.nextVersion();
  const artifact = host.seal(projectTar(host.describe(version)));
  await host.publish(version, artifact);

  for (const kept of [0, 11, 12, 27, 28, artifact.file.length - 16, artifact.file.length - 1]) {
    await t.test(`on the wire, after ${kept} bytes`, async (t) => {
      host.wire.tamper = (bytes) => bytes.subarray(0, kept);
      await host.refuses(t, version, { code: "signature_invalid" });
    });
  }
  host.wire.tamper = undefined;

  await t.test("even when its own signer cut it before the tag was whole", async (t) => {
    for (const length of [11, 12, 27]) {
      await host.refusesArtifact(t, signedFile(artifact.file.subarray(0, length), host.signer, artifact.dek), {
        code: "ciphertext_truncated",
      });
    }
  });

  await t.test("even when its own signer cut it later", async (t) => {
    const cut = signedFile(artifact.file.subarray(0, -100), host.signer, artifact.dek);
    await host.refusesArtifact(t, cut, { code: "decryption_failed" });
  });

  await t.test("and so is a frame, or a tar inside it, that ends early", async (t) => {
    const { forgedArtifact } = await import("../../support/forged/artifact.ts");
    const tar = projectTar(host.describe(version));
    const frame = forgedFrame(tar);
    await host.refusesArtifact(t, forgedArtifact(frame.subarray(0, -1), host.signer), { code: "zstd_invalid" });
    await host.refusesArtifact(t, forgedArtifact(Buffer.alloc(0), host.signer), { code: "zstd_invalid" });
    const inTheMiddleOfAFile = tar.subarray(0, tar.length - 1024 - 300);
    await host.refusesTar(t, inTheMiddleOfAFile, { code: "tar_invalid" });
  });
});
