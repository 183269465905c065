// Only in test:all: whole upgrades by the real programs, 5 s of a processor.
import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { deltaFleet } from "../support/host/delta-fleet.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

t.test("an upgrade takes the delta, and leaves the release that the full artifact would have left", async (t) => {
  const { plant, publish, deployTo, release } = await deltaFleet(t);
  const [a, b] = [temporaryFolder(t), temporaryFolder(t)];
  await publish("1.0.0");
  t.equal((await deployTo(a, "1.0.0")).find("delta.chosen"), undefined, "the first version has nothing to build on");
  // Later deltas from 1.0.0 have to carry it: the one from 1.1.0 is the smallest for sure.
  plant("plugins/demo/more-noise.bin", randomBytes(20_000));
  await publish("1.1.0");
  const { result, find } = await deployTo(a, "1.1.0");
  t.match(result, { outcome: "deployed", version: "1.1.0" });
  const chosen = find("delta.chosen")!;
  t.equal(chosen.base_version, "1.0.0");
  t.ok(chosen.size_bytes < chosen.full_size_bytes! * 0.2);
  t.equal(find("fetch.done")!.bytes, chosen.size_bytes, "no more bytes came than the delta has");
  await deployTo(b, "1.1.0");
  t.strictSame(release(a), release(b));

  await publish("1.2.0");
  t.equal(
    (await deployTo(a, "1.2.0")).find("delta.chosen")?.base_version,
    "1.1.0",
    "a completed release is a base, too",
  );
  await deployTo(b, "1.2.0", { delta: false });
  t.strictSame(release(a), release(b));
  t.equal((await deployTo(a, "1.2.0")).result.outcome, "unchanged");
});

t.test("a kept release is a base as well as the running one", async (t) => {
  const { publish, deployTo } = await deltaFleet(t);
  const root = temporaryFolder(t);
  await publish("1.0.0");
  await publish("1.1.0");
  await deployTo(root, "1.0.0");
  await deployTo(root, "1.1.0", { delta: false });
  await publish("1.2.0");
  await publish("1.3.0", "1.0.0");
  const { find } = await deployTo(root, "1.3.0");
  t.ok(["1.0.0", "1.1.0"].includes(find("delta.chosen")!.base_version));
});

t.test("a base that was changed falls back to the full artifact in the same run", async (t) => {
  const { publish, deployTo, release, project } = await deltaFleet(t);
  const [a, b] = [temporaryFolder(t), temporaryFolder(t)];
  await publish("1.0.0");
  await publish("1.1.0");
  await deployTo(b, "1.1.0");
  const releases = join(a, ".sealift/releases", `project-${project.id}`);
  const changes: Record<string, (folder: string) => void> = {
    "an installed file": (folder) => writeFileSync(join(folder, "plugins/demo/run.sh"), "#!/bin/bash\n"),
    "a file of the rest": (folder) => rmSync(join(folder, "rest/README.md")),
    "a seed": (folder) => writeFileSync(join(folder, "shipped-data/plugins/demo/seed.txt"), "another"),
    "the list": (folder) => {
      const list = readFileSync(join(folder, "contents.ndjson"), "utf8");
      writeFileSync(join(folder, "contents.ndjson"), list.replace('"executable":true', '"executable":"yes"'));
    },
  };
  for (const [what, change] of Object.entries(changes)) {
    rmSync(a, { recursive: true, force: true });
    await deployTo(a, "1.0.0");
    change(join(releases, readdirSync(releases)[0]!));
    const { result, find } = await deployTo(a, "1.1.0");
    t.match(find("delta.failed"), { base_version: "1.0.0", code: "delta_base_changed" }, what);
    t.equal(result.outcome, "deployed", what);
    t.strictSame(release(a), release(b), what);
  }
});

t.test("a delta of another signer than the pinned one is left alone", async (t) => {
  const { publish, deployTo } = await deltaFleet(t);
  const root = temporaryFolder(t);
  await publish("1.0.0");
  await deployTo(root, "1.0.0");
  await publish("1.1.0", "1.1.0", randomBytes(32));
  const { result, find } = await deployTo(root, "1.1.0");
  t.equal(find("delta.chosen"), undefined);
  t.match(result, { outcome: "failed", error: { code: "signer_untrusted" } });
});
