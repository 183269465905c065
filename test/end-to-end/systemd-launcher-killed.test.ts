// Only in test:all: systemd boots, and what runs applications there is killed.
// Holds: whoever starts applications may fail, and blames no version (lib/agent/deployment/supervision.ts)
import t, { type Test } from "tap";
import { IS_NIGHTLY } from "../support/effort.ts";
import { type ApplicationsBy, SystemdHost } from "../support/host/systemd-host.ts";
import { needs } from "../support/programs/optional.ts";
import { until } from "../support/until.ts";

const PATIENCE_MS = 120_000;
const LOOK_MS = 300;

/** A host that runs 1.0.0, and plays versions of which each is good. */
async function hosted(t: Test, by: ApplicationsBy) {
  const host = await SystemdHost.boot(t, by);
  await host.publish("1.0.0", `r.end("1.0.0")`);
  await until(async () => (await host.heard()).running === "1.0.0", PATIENCE_MS, LOOK_MS);
  let count = 1;
  /** Rolls a version out while somebody is at work, and holds that it arrives and nobody is blamed. */
  const play = async (t: Test, work: (has: (text: string) => Promise<void>) => Promise<void>): Promise<void> => {
    const version = `${++count}.0.0`;
    const printed = host.printed().length;
    const has = (text: string): Promise<void> =>
      until(
        () =>
          host
            .printed()
            .slice(printed)
            .some((line) => JSON.stringify(line).includes(text)),
        PATIENCE_MS,
      );
    await host.roll(version);
    const working = work(has);
    await host.publish(version, `r.end("${version}")`);
    await working;
    await until(async () => (await host.rollout()).state !== "running", PATIENCE_MS, LOOK_MS).catch(() => undefined);
    t.match(await host.rollout(), { state: "completed", halt: null });
    t.same(await host.quarantine(), [], "nobody is condemned");
    t.equal(await host.asked(), version);
    const { status, fleet } = await host.said();
    t.match(status, { running: version, unhealthy: null, faults: [null] });
    t.match(fleet, { running: version, isUnhealthy: false });
    t.equal(await host.processes(), 1);
    if (!t.passing()) for (const line of host.work()) t.comment(line);
  };
  return { host, play };
}

const skip = needs("systemd-nspawn", "pkcheck", "tar", "curl") || (process.getuid?.() !== 0 && "needs root");

t.test("under units of systemd", { skip }, async (t) => {
  const { host, play } = await hosted(t, "systemd");

  await t.test("a condition of ours that is killed is no fault of the version", async (t) => {
    await play(t, async (has) => {
      await has(`"event":"switch.done"`);
      // As a package that is being replaced, or a kernel without memory, does.
      await until(async () => (await host.machine.run("pkill", "-KILL", "-f", "app prepare web")).code === 0);
    });
  });

  await t.test("nor is a watch that may not start it for a while", async (t) => {
    await play(t, async (has) => {
      await has(`"event":"deploy.started"`);
      await host.systemctl("mask", "--runtime", "--now", "polkit");
      await has(`"event":"deploy.done"`);
      await host.systemctl("unmask", "--runtime", "polkit");
    });
  });
});

/** Steps at which `app serve` is killed, and times after them, in milliseconds. */
const MOMENTS = [
  ["restart-app-web", 0],
  ["restart-app-web", 300],
  ["restart-app-web", 900],
  ["healthcheck-app-web", 0],
  ["healthcheck-app-web", 400],
  ["healthcheck-app-web", 1000],
] as const;

t.test("under app serve", { skip }, async (t) => {
  const { host, play } = await hosted(t, "serve");
  for (const restartSec of IS_NIGHTLY ? ["100ms", "5s", "1s"] : ["1s"]) {
    host.machine.write("/etc/systemd/system/sealift-apps.service.d/soon.conf", `[Service]\nRestartSec=${restartSec}\n`);
    await host.systemctl("daemon-reload");
    for (const [step, afterMs] of IS_NIGHTLY ? MOMENTS : MOMENTS.filter((_, n) => n % 3 === 1))
      await t.test(`killed ${afterMs} ms after the start of ${step}, back in ${restartSec}`, (t) =>
        play(t, async (has) => {
          await has(`"event":"step.started","id":"${step}"`);
          await new Promise((resolve) => setTimeout(resolve, afterMs));
          await host.systemctl("kill", "--kill-whom=main", "--signal=KILL", "sealift-apps");
        }),
      );
  }
});
