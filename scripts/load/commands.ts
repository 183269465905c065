/**
 * `npm run build && node scripts/load/commands.ts --rollouts 1000 --reports 1000 --seconds 20`: an owner who publishes,
 * yanks, and starts and aborts rollouts at the built hub, first alone, then beside the live rollouts of another owner,
 * to one of which hosts report all the time. Prints the times of each command. Words after `--` are options of
 * `hub-serve`, such as `--database-url`.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createProject, hubAt, newSigner, publication } from "../../test/support/hub/harness.ts";
import { FLEET_SCOPES, fleetOf } from "../../test/support/hub/project-fleet.ts";
import { scriptArguments } from "../arguments.ts";
import { serveHub } from "../bench/stage.ts";
import { timesLine } from "../bench/statistics.ts";

/** Connections over which reports are sent. */
const CONNECTIONS = 16;
/** Hosts that report repeatedly. */
const HOSTS = 200;
const LONG_SOAK = { waves: ["50%", "100%"], soak_seconds: 86_400 };

const { values, positionals } = scriptArguments(import.meta.filename, {
  options: {
    rollouts: { type: "string", default: "1000" },
    reports: { type: "string", default: "1000" },
    seconds: { type: "string", default: "20" },
  },
  allowPositionals: true,
});
const [rollouts, reports, seconds] = [Number(values.rollouts), Number(values.reports), Number(values.seconds)];

const folder = await mkdtemp(join(tmpdir(), "sealift-load-"));
try {
  await using served = await serveHub(join(folder, "hub"), ["--rate-limit", "0", ...positionals]);
  const hub = hubAt(served.url, served.admin.SEALIFT_API_KEY);
  const others = await createProject(hub, FLEET_SCOPES);
  await others.publish(publication("1.0.0"));
  const fleet = await fleetOf(hub, others);
  for (let host = 0; host < HOSTS; host++) await fleet.report(`host-${host}`, "1.0.0");
  const mine = await createProject(hub, FLEET_SCOPES);
  const signer = newSigner();
  await mine.publish(publication("0.0.1", { signer }));
  const own = await fleetOf(hub, mine);
  const times = new Map<string, number[]>();
  let version = 0;

  /** Publishes, yanks, and starts and aborts a rollout, once. */
  async function operate(): Promise<void> {
    const timed = async <T>(what: string, work: () => Promise<T>): Promise<T> => {
      const begun = performance.now();
      const result = await work();
      times.getOrInsertComputed(what, () => []).push(performance.now() - begun);
      return result;
    };
    const label = `1.0.${version++}`;
    const published = publication(label, { signer });
    await timed("publish", () => mine.publish(published));
    const versions = `/devkeys/projects/${mine.id}/versions/${label}`;
    await timed("yank", () => hub.call("POST", `${versions}/yank`, { key: mine.key, json: {} }));
    const started = await own.start({ version: `2.0.${version}`, waves: ["100%"] });
    const { id } = started.body as { id: string };
    await timed("abort", () => own.act(id, "abort"));
  }

  async function measure(what: string): Promise<void> {
    times.clear();
    for (const end = performance.now() + seconds * 1000; performance.now() < end;) await operate();
    for (const [command, all] of times) console.log(timesLine(`${what}: ${command}`, all));
  }

  await measure("alone");
  console.log(`starting ${rollouts} rollouts`);
  let next = 0;
  const startOne = async (): Promise<void> => {
    while (next++ < rollouts) {
      const project = await createProject(hub, FLEET_SCOPES);
      await project.publish(publication("1.0.0"));
      await hub.call("POST", `/devkeys/projects/${project.id}/rollouts`, {
        key: project.key,
        json: { version: "1.0.0", ...LONG_SOAK },
      });
    }
  };
  await Promise.all(Array.from({ length: 8 }, startOne));
  await fleet.start({ version: "1.0.0", ...LONG_SOAK });
  await measure(`beside ${rollouts} live rollouts`);

  const bearer = await others.session();
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  let sent = 0;
  let refused = 0;
  let isOver = false;
  const report = (): Promise<void> => {
    const host = `host-${sent++ % HOSTS}`;
    const body = JSON.stringify({
      ...{ project_id: others.id, deployment_id: `load-${sent}`, status: "success", version: "1.0.0", plugins: [] },
      ...{ started_at: "", completed_at: "", host_id: host, running_version: "1.0.0" },
    });
    const { promise, resolve } = Promise.withResolvers<void>();
    const headers = { "content-type": "application/json", authorization: `Bearer ${bearer}`, "x-sealift-host": host };
    request(`${served.url}/app/deploy/v1/deployments/report`, { method: "POST", agent, headers }, (answer) => {
      if (answer.statusCode !== 200) refused++;
      answer.resume().once("close", resolve);
    })
      .once("error", () => resolve())
      .end(body);
    return promise;
  };
  const begun = performance.now();
  const reporting = Array.from({ length: CONNECTIONS }, async () => {
    while (!isOver) {
      // No faster than requested, whatever the hub can take.
      const ahead = sent / reports - (performance.now() - begun) / 1000;
      if (ahead > 0) await sleep(ahead * 1000);
      await report();
    }
  });
  await measure(`beside ${reports} reports a second, too`);
  isOver = true;
  await Promise.all(reporting);
  agent.destroy();
  const rate = sent / ((performance.now() - begun) / 1000);
  console.log(`${Math.round(rate)} reports a second, ${refused} refused`);
} finally {
  await rm(folder, { recursive: true, force: true });
}
