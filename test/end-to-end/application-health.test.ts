// Only in test:all: applications that fall ill and recover by real time.
// In a process of its own: it watches processes for seconds.
/** An application becomes unhealthy during a rollout: hub, watch, `app serve` and the application are real. */
import t, { type Test } from "tap";
import { Fleet } from "../../commands/fleets/fleet.ts";
import { RolloutShow, RolloutStart } from "../../commands/rollouts/rollouts.ts";
import { RolloutWait } from "../../commands/rollouts/wait.ts";
import { DEPLOY_DEFAULTS } from "../../lib/agent/deployment/run.ts";
import { projectReporter } from "../../lib/agent/sources/project.ts";
import { projectPoll, type WatchTarget } from "../../lib/agent/watch/target.ts";
import { sourceOf } from "../support/host/given-source.ts";
import { sickApplication } from "../support/host/sick-application.ts";
import { watching } from "../support/host/watching.ts";
import { createProject, publication, startHub } from "../support/hub/harness.ts";
import { until } from "../support/hub/project-fleet.ts";
import { startReceiver } from "../support/hub/receiver.ts";
import { senderOf } from "../support/hub/webhooks.ts";
import { runHere } from "../support/programs/run-here.ts";

/** A hub, and a watch of one host whose application answers as it is told. */
async function watched(t: Test, health?: string) {
  const hub = await startHub(t, { rateLimits: false, webhookAllow: ["127.0.0.0/8"] });
  const project = await createProject(hub, ["publish", "projects", "deploy", "report", "read"]);
  await project.publish(publication("1.0.0"));
  const h = await sickApplication(t, health);
  const facts = { hubUrl: hub.url, projectId: project.id };
  const connection = { ...facts, apiKey: project.key, timeoutMs: 20_000, hostId: "edge", labels: {} };
  const target: WatchTarget = {
    ...{ name: "edge", hub: hub.url, intervalMs: 300, poll: projectPoll(project.id, connection) },
    source: (version) =>
      sourceOf(version, h.steps, {
        ...{ slug: project.id, requestedVersion: version, files: h.files },
        ...projectReporter(connection),
      }),
    options: { ...DEPLOY_DEFAULTS, projectRoot: h.root, hostId: "edge", supervisor: { name: "none" } },
  };
  const w = watching(t, [target], undefined, undefined, { everyMs: 200, quietMs: 1_500 });
  await w.until("deploy.done", { version: "1.0.0", outcome: "deployed" });
  return { hub, project, h, w };
}

t.test(
  "a former release that does not answer is said to be unhealthy by its host's fleet, until it does",
  async (t) => {
    const { hub, project, h, w } = await watched(t, "{ http: /healthz, within: 3s, stays_up: 1s }");
    const fleet = async () => {
      const at = ["--hub-url", hub.url, "--api-key", project.key, "--json"];
      const { stdout } = await runHere([Fleet], ["fleet", project.id, ...at]);
      return JSON.parse(stdout.split("\n")[0]!) as Record<string, unknown>;
    };
    await h.answers(500);
    await project.publish(publication("2.0.0"));
    t.match(await w.until("deploy.done", { version: "2.0.0" }), { outcome: "rolled_back", code: "not_back" });
    const sick = await until(fleet, ({ health }) => health !== undefined);
    t.match(sick, { status: "rolled_back", running_version: "1.0.0", health: { state: "unhealthy" } });
    t.match(sick["error_message"], /does not work either: apps\/web: .*answered 500/);
    await h.answers(200);
    await w.until("health.changed", { state: "healthy" });
    const well = await until(fleet, ({ health }) => (health as { state?: string } | undefined)?.state !== "unhealthy");
    t.match(well, { running_version: "1.0.0" });
  },
);

t.test("an application that answers 500 halts the rollout of its version, and webhooks hear of it once", async (t) => {
  const { hub, project, h, w } = await watched(t);
  const receiver = await startReceiver(t);
  const events = ["host.failed", "host.unhealthy", "host.healthy"];
  await hub.call("POST", "/devkeys/webhooks", { json: { url: receiver.url, events } });
  const at = ["--hub-url", hub.url, "--api-key", project.key];
  const sealift = (...words: string[]) => runHere([RolloutStart, RolloutShow, RolloutWait], [...words, ...at]);
  t.equal((await sealift("rollout", "start", project.id, "2.0.0", "--waves", "100%", "--soak", "1h")).code, 0);
  await project.publish(publication("2.0.0"));
  await w.until("deploy.done", { version: "2.0.0", outcome: "deployed" });
  await h.answers(500);
  const { since } = await w.until("health.changed", { state: "unhealthy" });
  const waited = await sealift("rollout", "wait", project.id, "--interval", "100ms");
  t.match(waited, { code: 1, stderr: /halted: 2\.0\.0 failed on 1 host/ });
  t.match((await sealift("rollout", "show", project.id)).stdout, /✗ edge: unhealthy: apps\/web: GET .* answered 500/);

  await h.answers(200);
  await w.until("health.changed", { state: "healthy" });
  const types = await until(
    async () => {
      await senderOf(hub.hub).idle();
      return receiver.received.map(({ body }) => (body as { type: string }).type);
    },
    (heard) => heard.length > 1,
  );
  t.strictSame(types, ["host.unhealthy", "host.healthy"]);
  t.match(receiver.received[0]!.body, { data: { host_id: "edge", version: "2.0.0", since } });
  t.equal(w.all("deploy.done").length, 2, "nobody went back");
});
