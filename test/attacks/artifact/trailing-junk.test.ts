import { randomBytes } from "node:crypto";
import t from "tap";
import { forgedArtifact, forgedFrame, projectTar } from "../../support/forged/artifact.ts";
import { attackedHost } from "../../support/host/attacked-host.ts";

t.test("bytes behind the zstd frame, and bytes behind the tar that are not tar, are refused", async (t) => {
  const host = await attackedHost(t);
  const tar = projectTar(host.describe("1.1.0"));
  for (const junk of [Buffer.alloc(1), Buffer.alloc(4096), randomBytes(100_000)]) {
    await t.test(`${junk.length} bytes behind the frame`, async (t) => {
      const plaintext = Buffer.concat([forgedFrame(tar), junk]);
      await host.refusesArtifact(t, forgedArtifact(plaintext, host.signer), { code: "zstd_invalid" });
    });
  }
  await t.test("bytes behind the tar", async (t) => {
    await host.refusesTar(t, Buffer.concat([tar, Buffer.alloc(512, 0x41)]), { code: "tar_invalid" });
    await host.refusesTar(t, Buffer.concat([tar, Buffer.alloc(100, 0x41)]), { code: "tar_invalid" });
  });
  await t.test("a frame that says more or less than it holds", async (t) => {
    for (const contentSize of [tar.length - 1, tar.length + 1, 0]) {
      const frame = forgedFrame(tar, { contentSize });
      await host.refusesArtifact(t, forgedArtifact(frame, host.signer), { code: "zstd_invalid" });
    }
    await host.refusesArtifact(t, forgedArtifact(forgedFrame(tar, { contentSize: null }), host.signer), {
      code: "zstd_invalid",
    });
  });
});
