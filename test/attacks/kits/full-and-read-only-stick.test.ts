/** A stick that is full, read-only or FAT, as root alone can mount them. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { offlineSite, sealift } from "../../support/host/offline-site.ts";

/** Whether a file system can be mounted here: root may, except in most containers. */
const canMount =
  process.getuid?.() === 0 && spawnSync("unshare", ["-m", "mount", "-t", "tmpfs", "stick", "/mnt"]).status === 0;

/** Mounts a small file system in memory, until the test ends. */
function mount(t: Test, folder: string, options: string): void {
  mkdirSync(folder, { recursive: true });
  execFileSync("mount", ["-t", "tmpfs", "-o", options, "stick", folder]);
  t.teardown(() => execFileSync("umount", ["-l", folder]));
}

t.test(
  "a stick that is full gets no kit, and a read-only one is deployed from",
  { skip: !canMount && "no file system can be mounted here" },
  async (t) => {
    const { hub, folder, target, root, made, make, deploy } = await offlineSite(t);
    await target.publish("1.0.0", { "plugins/tides/large": "x".repeat(10) });
    const full = join(folder, "full");
    mount(t, full, "size=8k");
    execFileSync("sh", ["-c", "head -c 8192 /dev/zero > full/filler || true"], { cwd: folder });
    const refused = await made("full/kit");
    t.match(
      refused.result,
      { error: { code: "disk_full", message: /has 0 B left, and the kit needs/ } },
      refused.stdout,
    );
    t.strictSame(
      readdirSync(full).filter((name) => name !== "filler" && name !== "kit"),
      [],
    );

    const { items } = (await hub.call("GET", `/devkeys/projects/${target.slug}/kits`)).body as { items: object[] };
    t.strictSame(items, [], "nothing was asked of the hub");

    const stick = join(folder, "stick");
    mount(t, stick, "size=4m");
    await make("stick/kit");
    execFileSync("mount", ["-o", "remount,ro", stick]);
    t.match((await deploy(join(stick, "kit"))).result, { outcome: "deployed" });
    t.strictSame(
      readdirSync(join(stick, "kit")).toSorted(),
      ["artifact.bin", "kit.json"],
      "the report waits on the host",
    );
    const collect = (to: string) =>
      sealift(folder, ["kit", "collect", to, "--host-key-file", "host.key", "--project-root", root]);
    const kept = await collect(join(stick, "kit"));
    t.match(kept.result, { error: { code: "kit_unwritable", message: /takes no report: it can only be read\.$/ } });
    execFileSync("mount", ["-o", "remount,rw", stick]);
    execFileSync("sh", ["-c", "head -c 5000000 /dev/zero > stick/filler 2>/dev/null || true"], { cwd: folder });
    const overflown = await collect(join(stick, "kit"));
    t.match(overflown.result, { error: { code: "kit_unwritable", message: /takes no report: it is full\.$/ } });
    t.strictSame(readdirSync(join(stick, "kit/reports")), [], "no part of a report, which nobody could hand in");
    rmSync(join(stick, "filler"));
    t.match((await collect(join(stick, "kit"))).result, { written: 1, known: 0 });
  },
);
