import t from "tap";
import { attackedHost } from "../../support/host/attacked-host.ts";

t.test("a tree that is not the one of its manifest is refused", async (t) => {
  const host = await attackedHost(t);
  const refusal = { code: "digest_mismatch" } as const;
  await t.test("another digest", (t) =>
    host.refusesProject(t, { manifest: (m) => ({ ...m, content_sha256: "0".repeat(64) }) }, refusal),
  );
  await t.test("a file more", (t) =>
    host.refusesProject(t, { extra: [{ name: "./added.txt", content: "x" }] }, refusal),
  );
  await t.test("a file less", (t) => host.refusesProject(t, { counted: { "missing.txt": "x" } }, refusal));
  await t.test("a file behind the end of the archive", async (t) => {
    const { memberBlocks, projectTar } = await import("../../support/forged/artifact.ts");
    const version = host.nextVersion();
    const tar = Buffer.concat([
      projectTar(host.describe(version)),
      memberBlocks({ name: "./hidden.txt", content: "x" }),
      Buffer.alloc(1024),
    ]);
    await host.publish(version, host.seal(tar));
    await host.refuses(t, version, { code: "tar_invalid" });
  });
});
