// Holds: which version of a trust root a host takes (lib/agent/sources/trust-root.ts, lib/artifact/trust/root.ts)
/** A file below `.sealift/trust` that was damaged: the host installs nothing by a root that it cannot read. */
import { readFile, rm, symlink, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { heldKey } from "../../support/forged/roots.ts";
import { followingHost, rootedProject, rootFile } from "../../support/host/root-host.ts";

t.test("a root that was changed on the disk stops deployments, and leaves what runs", async (t) => {
  const [signer, thief] = [heldKey(), heldKey()];
  const project = await rootedProject(t, signer);
  const { chain, release } = project;
  const one = await followingHost(project, signer);
  const folder = one.layout.roots(one.target.source("latest").target);
  const [file, later] = [join(folder, "1.root.json"), join(folder, "9.root.json")];
  const good = await readFile(file, "utf8");
  await release("1.1.0", signer);
  const damages: Record<string, () => Promise<void>> = {
    "a signer put in": () => writeFile(file, good.replaceAll(signer.hex, thief.hex)),
    "cut off": () => truncate(file, 100),
    empty: () => truncate(file, 0),
    "a later version that nobody has signed": () => writeFile(later, chain.version(9, [thief], { by: [] })),
    "64 MiB": () => truncate(file, 64 * 1024 * 1024),
    "a link to nothing": async () => {
      await rm(file);
      await symlink("/nonexistent/root.json", file);
    },
  };
  for (const [what, damage] of Object.entries(damages)) {
    await damage();
    for (const result of [await one.check(), await one.deploy("1.1.0")]) {
      t.match(result, { outcome: "failed" }, what);
      t.match(result.error?.code, /^trust_root_(invalid|undersigned)$/, `${what}: ${result.error?.message}`);
      t.equal(result.error?.exitCode, 4, what);
    }
    t.match((await one.findings())[0], { status: "failed", hint: /^Give the root anew: remove the file/ }, what);
    t.equal(await one.running(), "1.0.0", what);
    await rm(later, { force: true });
    await rm(file);
    await writeFile(file, good);
  }
  t.strictSame(await one.quarantined(), [], "the version is not to blame");
  t.match(await one.check(), { outcome: "deployed", version: "1.1.0" });
});

t.test("once the damaged file is removed, the operator's file begins anew", async (t) => {
  const signer = heldKey();
  const project = await rootedProject(t, signer);
  const one = await followingHost(project, signer);
  const file = join(one.layout.roots(one.target.source("latest").target), "1.root.json");
  await writeFile(file, "damaged");
  t.match(await one.check(), { outcome: "failed" });
  await rm(file);
  one.choice.file = await rootFile(one.outside, 2, project.chain.version(2, [signer]));
  t.match(await one.check(), { outcome: "current" });
  t.equal(await one.version(), 2);
});
