// Holds: in which order several applications are activated (lib/support/systemd/app-units.ts)
import t from "tap";
import { appSteps, stepsTogether } from "../../../../lib/support/systemd/app-units.ts";

t.test("systemd reads the units of all applications once, before it starts one", async (t) => {
  const steps = (root: string) =>
    stepsTogether([
      ...appSteps({ instance: "web", socket: ["http", "127.0.0.1:3000"], root }),
      ...appSteps({ instance: "worker", socket: undefined, root }),
    ]);
  t.strictSame(steps("/"), [
    "systemd-sysusers",
    "systemd-tmpfiles --create sealift-app-web.conf",
    "systemd-tmpfiles --create sealift-app-worker.conf",
    "systemctl daemon-reload",
    "systemctl enable sealift-app@web.socket sealift-app@web.service sealift-jobs.target",
    "systemctl start sealift-jobs.target",
    "systemctl start sealift-app@web.socket",
    "systemctl enable sealift-app@worker.service sealift-jobs.target",
  ]);
  t.equal(steps("/mnt").length, 2, "in another root they are enabled only");
});
