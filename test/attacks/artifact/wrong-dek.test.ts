import { randomBytes } from "node:crypto";
import t from "tap";
import { projectTar } from "../../support/forged/artifact.ts";
import { attackedHost } from "../../support/host/attacked-host.ts";

t.test(
  "a hub that releases another key gets nothing installed, and the error tells it from changed bytes",
  async (t) => {
    const host = await attackedHost(t);
    const small = host.seal(projectTar(host.describe("1.1.0")));
    await host.refusesArtifact(t, { ...small, dek: randomBytes(32) }, { code: "decryption_failed" });
    // Larger than every buffer on the way: the decoder gives up long before the last byte.
    const files = { "plugins/demo/noise.bin": randomBytes(8 * 1024 * 1024) };
    const large = host.seal(projectTar(host.describe("1.1.1", { files })));
    await host.refusesArtifact(t, { ...large, dek: randomBytes(32) }, { code: "decryption_failed" });
  },
);
