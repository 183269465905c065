// Only in test:all: applications that fall ill and recover by real time.
// In a process of its own: it watches processes for seconds.
/** An application becomes unhealthy during a rollout: hub, watch, `app serve` and the application are real. */
import t from "tap";
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

t.test("an application that answers 500 halts the rollout of its version, and webhooks hear of it once", async (t) => {
  const hub = await startHub(t, { rateLimits: false, webhookAllow: ["127.0.0.0/8"] });
  const project = await createProject(hub, ["publish", "projects", "deploy", "report", "read"]);
  const receiver = await startReceiver(t);
  const events = ["host.failed", "host.unhealthy", "host.healthy"];
  await hub.call("POST", "/devkeys/webhooks", { json: { url: receiver.url, events } });
  await project.publish(publication("1.0.0"));
  const h = await sickApplication(t);
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
