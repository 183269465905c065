import t from "tap";
import { forgedArtifact, forgedFrame, memberBlocks, projectTar } from "../../support/forged/artifact.ts";
import { attackedHost } from "../../support/host/attacked-host.ts";

const MIB = 1024 * 1024;

t.test("an artifact that unpacks to far more than its size is refused before the disk is full", async (t) => {
  const host = await attackedHost(t);

  await t.test("one file of zeros", async (t) => {
    const zeros = 512 * MIB;
    const start = memberBlocks({ name: "./plugins/demo/zeros.bin", declaredSize: zeros });
    const bomb = forgedFrame(start, { zeros });
    t.ok(bomb.length < zeros / 30_000, `${bomb.length} bytes hold ${zeros}`);
    await host.refusesArtifact(t, forgedArtifact(bomb, host.signer), { code: "limit_exceeded" });
  });

  await t.test("zeros behind the end of the tar", async (t) => {
    const tar = projectTar(host.describe("1.1.1"));
    const bomb = forgedFrame(tar, { zeros: 512 * MIB });
    await host.refusesArtifact(t, forgedArtifact(bomb, host.signer), { code: "limit_exceeded" });
  });
});
