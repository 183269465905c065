/** A rollout over a fleet of watched hosts: a version that fails on some ends halted, and those who took it go back. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import {
  RolloutAbort,
  RolloutChange,
  RolloutList,
  RolloutShow,
  RolloutStart,
} from "../../commands/rollouts/rollouts.ts";
import { RolloutWait } from "../../commands/rollouts/wait.ts";
import type { WatchTarget } from "../../lib/agent/watch/target.ts";
import type { RolloutRecord } from "../../lib/contract/rollouts/records.ts";
import { rolloutHost } from "../support/host/rollout-host.ts";
import { watching } from "../support/host/watching.ts";
import { createProject, publication, startHub } from "../support/hub/harness.ts";
import type { Ended } from "../support/programs/command-line.ts";
import { runHere } from "../support/programs/run-here.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { until } from "../support/until.ts";

const HOSTS = 10;
/** The good and the bad half of the first wave. */
const CANARIES = ["host-0", "host-1", "host-2", "host-3"];
const isBad = (host: string): boolean => host === "host-2" || host === "host-3";

const sealift = (words: readonly string[]): Promise<Ended> =>
  runHere([RolloutStart, RolloutList, RolloutShow, RolloutChange, RolloutAbort, RolloutWait], words);

t.test(
  "a bad version ends halted after its first wave, and the hosts that took it are back at what they ran",
  async (t) => {
    const hub = await startHub(t, { rateLimits: false });
    const project = await createProject(hub, ["publish", "projects", "deploy", "report", "read"]);
    await project.publish(publication("1.0.0"));
    const folder = temporaryFolder(t);
    const rootOf = (host: string): string => join(folder, host);

    const targetOf = (name: string): WatchTarget =>
      rolloutHost(
        { url: hub.url, projectId: project.id, apiKey: project.key },
        {
          ...{ name, projectRoot: rootOf(name), labels: { env: CANARIES.includes(name) ? "canary" : "prod" } },
          ...{ bad: isBad(name) ? "2.0.0" : undefined, intervalMs: 100 },
        },
      );
    const hosts = Array.from({ length: HOSTS }, (_, index) => `host-${index}`);
    const w = watching(t, hosts.map(targetOf));
    const runs = (host: string): Promise<string> => readFile(join(rootOf(host), "plugins/a/version"), "utf8");
    for (const host of hosts)
      while (!w.all("deploy.done").some(({ target }) => target === host)) await w.until("deploy.done");

    const at = ["--hub-url", hub.url, "--api-key", project.key];
    const start = ["--waves", "env=canary,50%,100%", "--soak", "200ms", "--on-halt", "rollback", "--min-done", "60%"];
    t.match(await sealift(["rollout", "start", project.id, "2.0.0", ...start, ...at]), { code: 0, stderr: /3 waves/ });
    await project.publish(publication("2.0.0"));
    const waited = await sealift(["rollout", "wait", project.id, "--interval", "100ms", ...at]);
    t.match(waited, { code: 1, stderr: /halted: 2\.0\.0 failed on [12] host/ });
    const deployed = new Set(
      w.all("deploy.done").flatMap(({ target, version }) => (version === "2.0.0" ? [target] : [])),
    );
    t.strictSame(
      [...deployed].filter((host) => !CANARIES.includes(host)),
      [],
      "no host beyond the first wave got it",
    );

    // A canary that was in the middle of it goes back as well.
    for (const host of hosts) await until(async () => (await runs(host)) === "1.0.0");
    // The event comes some time after the switch.
    const back = { version: "1.0.0", previous_version: "2.0.0" };
    const wentBack = (host: string): boolean =>
      w
        .all("deploy.done")
        .some(
          (event) =>
            event.target === host && event.version === back.version && event.previous_version === back.previous_version,
        );
    for (const host of deployed) while (!isBad(host) && !wentBack(host)) await w.until("deploy.done", back);
    const shown = await sealift(["rollout", "show", project.id, ...at]);
    t.match(shown.stdout, /● env=canary .*failing\n.*✗ host-[23]: A step of 2\.0\.0 fails here/s);
    t.match(await sealift(["rollout", "list", project.id, ...at]), { code: 0, stdout: /2\.0\.0 +halted +1\/3/ });
    const dry = await sealift(["rollout", "abort", project.id, "--dry-run", "--json", ...at]);
    t.match(JSON.parse(dry.stdout), { status: "success", dry_run: true, rollout: { state: "halted" } });
    t.match(await sealift(["rollout", "abort", project.id, "--reason", "bad", ...at]), { code: 0, stderr: /aborted/ });
    t.match(await sealift(["rollout", "wait", project.id, ...at]), { code: 1, stderr: /was aborted: bad/ });

    t.equal(
      (await sealift(["rollout", "start", project.id, "2.0.1", "--waves", "50%,100%", "--soak", "0", ...at])).code,
      0,
    );
    await project.publish(publication("2.0.1"));
    const done = await sealift(["rollout", "wait", project.id, "--interval", "100ms", "--json", ...at]);
    t.equal(done.code, 0);
    const lines = done.stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { event: string; rollout?: RolloutRecord });
    t.match(lines.at(-1), { event: "result", rollout: { state: "completed", open: 2 } });
    const impatient = ["rollout", "start", project.id, "3.0.0", ...at];
    t.equal((await sealift(impatient)).code, 0);
    t.match(await sealift(["rollout", "wait", project.id, "--timeout", "0", ...at]), {
      code: 75,
      stderr: /goes on/,
    });
    t.match(await sealift(["rollout", "pause", project.id, ...at]), { code: 0, stderr: /paused/ });
    for (const [words, code] of [
      [["rollout", "start", project.id, "3.0.0", "--waves", "10%,5%,100%"], 2],
      [["rollout", "start", project.id, "3.0.0", "--max-failing", "many"], 2],
      [["rollout", "start", project.id, "3.0.0"], 1],
      [["rollout", "approve", project.id], 1],
      [["rollout", "show", project.id, "--rollout", "rol_none"], 1],
    ] as const)
      t.equal((await sealift([...words, ...at])).code, code, words.join(" "));
  },
);
