import fc from "fast-check";
import t from "tap";
import { projectTar } from "../../support/forged/artifact.ts";
import { attackedHost } from "../../support/host/attacked-host.ts";

t.test("a bit that flips on the wire is found wherever it is", async (t) => {
  const host = await attackedHost(t);
  const version = host.nextVersion();
  const artifact = host.seal(projectTar(host.describe(version)));
  await host.publish(version, artifact);
  const { length } = artifact.file;

  const flip = (bit: number) => (bytes: Buffer) => {
    const changed = Buffer.from(bytes);
    changed[bit >> 3]! ^= 1 << (bit & 7);
    return changed;
  };
  const regions = { nonce: 5, "first byte of the ciphertext": 12, ciphertext: length >> 1, "the tag": length - 1 };
  for (const [region, at] of Object.entries(regions)) {
    await t.test(`in ${region}`, async (t) => {
      host.wire.tamper = flip(at * 8 + 3);
      await host.refuses(t, version, { code: "signature_invalid" });
    });
  }

  await t.test("at random positions", async (t) => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: length * 8 - 1 }), async (bit) => {
        host.wire.tamper = flip(bit);
        const result = await host.deploy(version);
        return result.error?.code === "signature_invalid" && result.release?.startsWith("1.0.0-") === true;
      }),
      { numRuns: 20 },
    );
    t.pass();
  });

  await t.test("and the same artifact untouched is deployed", async (t) => {
    host.wire.tamper = undefined;
    t.equal((await host.deploy(version)).outcome, "deployed");
  });
});
