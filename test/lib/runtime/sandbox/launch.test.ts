import { realpathSync } from "node:fs";
import t from "tap";
import { sandboxLaunch } from "../../../../lib/runtime/sandbox/launch.ts";
import { bubblewrap } from "../../../../lib/runtime/walls/bubblewrap.ts";

t.test("a Node that cannot deny the network runs no sandbox that was not granted it", (t) => {
  const confinement = {
    ...{
      reads: ["/release"],
      writes: ["/release/data"],
      network: "none" as const,
      memory: { oldSpaceMb: 48, semiSpaceMb: 2, channelBytes: 1, roomBytes: 1 },
      maxDiskMb: 1,
    },
    ...{
      wall: undefined,
      grouped: false,
      scratchMb: 0,
      permissionModel: "enforced" as const,
    },
  };
  t.throws(() => sandboxLaunch(confinement, false), { code: "sandbox_unavailable", message: /Node 25/ });
  t.notOk(sandboxLaunch(confinement, true).arguments.includes("--allow-net"));
  t.notOk(sandboxLaunch({ ...confinement, network: "all" }, false).arguments.includes("--allow-net"));
  t.ok(sandboxLaunch({ ...confinement, network: "all" }, true).arguments.includes("--allow-net"));
  t.throws(() => sandboxLaunch({ ...confinement, reads: ["/rel*ase"] }, true), { code: "sandbox_unavailable" });
  t.ok(sandboxLaunch(confinement, true).arguments.includes("--permission"));
  t.end();
});

t.test("a plugin whose release lies below /tmp gets no /tmp of its own, which would hide it", (t) => {
  const wall = bubblewrap({ file: "/usr/bin/bwrap", version: "0.8.0", proc: true });
  const confinement = {
    ...{
      network: "none" as const,
      memory: { oldSpaceMb: 48, semiSpaceMb: 2, channelBytes: 1, roomBytes: 1 },
      maxDiskMb: 1,
      grouped: false,
    },
    ...{ wall, scratchMb: 16, permissionModel: "enforced" as const },
  };
  const of = (release: string) =>
    sandboxLaunch({ ...confinement, reads: [release], writes: [`${release}/data`] }, true);
  const elsewhere = of("/srv/release").arguments;
  // The sandboxes of a checkout below /tmp have none, wherever the release lies.
  if (!import.meta.dirname.startsWith("/tmp/"))
    t.ok(elsewhere.includes("--tmpfs") && elsewhere.includes("--allow-fs-write=/tmp"));
  const below = of("/tmp/release").arguments;
  t.notOk(below.includes("--tmpfs") || below.includes("--allow-fs-write=/tmp"));
  const old = { ...wall, scratch: false };
  t.notOk(
    sandboxLaunch({ ...confinement, wall: old, reads: ["/srv/r"], writes: [] }).arguments.includes(
      "--allow-fs-write=/tmp",
    ),
  );
  t.end();
});

t.test("a Node.js below /tmp stays in sight of a sandbox with a /tmp of its own", (t) => {
  const wall = bubblewrap({ file: "/usr/bin/bwrap", version: "0.8.0", proc: true });
  const view = {
    ...{ reads: ["/srv/release"], writes: [], cwd: "/srv/release", network: "none" as const },
    scratchMb: 16,
  };
  const { arguments: given } = wall.enclose({ file: "/tmp/node", arguments: [] }, view);
  const node = given.indexOf(realpathSync(process.execPath));
  t.ok(given.indexOf("--tmpfs") < node && node < given.indexOf("--"), "it is mounted after the file system of /tmp");
  t.end();
});
