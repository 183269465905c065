import t from "tap";
import { sandboxLaunch } from "../../../../lib/runtime/sandbox/launch.ts";

t.test("a Node that cannot deny the network runs no sandbox that was not granted it", (t) => {
  const confinement = {
    ...{ reads: ["/release"], writes: ["/release/data"], network: "none" as const, maxMemoryMb: 64, maxDiskMb: 1 },
    ...{
      wall: undefined,
      grouped: false,
      user: undefined,
      cpuPercent: 100,
      scratchMb: 0,
      ioMbPerSecond: undefined,
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
