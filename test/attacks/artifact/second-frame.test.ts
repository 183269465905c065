import t from "tap";
import { forgedArtifact, forgedFrame, forgedTar, projectTar } from "../../support/forged/artifact.ts";
import { attackedHost } from "../../support/host/attacked-host.ts";

t.test("a second zstd frame is refused, also one that a decoder would skip", async (t) => {
  const host = await attackedHost(t);
  const frame = forgedFrame(projectTar(host.describe("1.1.0")));
  const empty = forgedFrame(Buffer.alloc(0));
  const another = forgedFrame(forgedTar([{ name: "./second.txt", content: "hidden" }]));
  const skippable = Buffer.from([0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 1, 2, 3, 4]);
  const cases = {
    "an empty one": [frame, empty],
    "one with more files": [frame, another],
    "a skippable one behind": [frame, skippable],
    "a skippable one in front": [skippable, frame],
  };
  for (const [name, frames] of Object.entries(cases)) {
    await t.test(name, async (t) => {
      await host.refusesArtifact(t, forgedArtifact(Buffer.concat(frames), host.signer), { code: "zstd_invalid" });
    });
  }
});
