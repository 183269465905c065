import t from "tap";
import type { AgentEvent } from "../../../lib/agent/base/events.ts";
import { DeploymentModel } from "../../../lib/tui/deployment-model.ts";

const outcome = (id: string, status: "done" | "failed" = "done", error: string | null = null): AgentEvent => ({
  event: "step.done",
  outcome: { id, action: "install_plugin", status, duration_ms: 3, error_message: error },
});

const EVENTS: AgentEvent[] = [
  { event: "lock.acquired" },
  { event: "resolve.ok", version: "1.1.0", running_version: "1.0.0" },
  { event: "fetch.started", size_bytes: 1000 },
  { event: "fetch.progress", bytes: 500, size_bytes: 1000, unpacked_bytes: 900 },
  { event: "verify.ok", check: "signature" },
  { event: "fetch.done", bytes: 1000, files: 2, unpacked_bytes: 2000 },
  { event: "verify.ok", check: "manifest" },
  { event: "verify.ok", check: "plan" },
  {
    event: "steps.planned",
    steps: [
      { id: "install", action: "install_plugin", after_switch: false },
      { id: "health", action: "healthcheck", after_switch: true },
    ],
  },
  { event: "step.started", id: "install", action: "install_plugin", plugin: "a" },
  outcome("install"),
  { event: "switch.started", release: "1.1.0-x", previous: "1.0.0-x" },
  { event: "switch.done", release: "1.1.0-x" },
  { event: "step.started", id: "health", action: "healthcheck", plugin: "a" },
  outcome("health"),
  { event: "commit.done", release: "1.1.0-x" },
];

const after = (events: readonly AgentEvent[]): DeploymentModel => {
  const model = new DeploymentModel("latest", null, 0);
  events.forEach((event, index) => model.apply(event, index * 1000));
  return model;
};
const statuses = (model: DeploymentModel) => model.stages.map(({ status }) => status).join(" ");

t.test("each event moves the pipeline on, and its share never shrinks", async (t) => {
  let share = 0;
  for (let length = 0; length <= EVENTS.length; length++) {
    const model = after(EVENTS.slice(0, length));
    t.ok(model.fraction >= share, `after ${length} events ${model.fraction} is not less than ${share}`);
    share = model.fraction;
  }
  t.ok(share > 0.999);
});

t.test("bytes are unpacked while they come, so both stages go on at once", async (t) => {
  const model = after(EVENTS.slice(0, 4));
  t.equal(statuses(model), "done active active waiting waiting waiting waiting");
  t.equal(model.stages[1]!.fraction, 0.5);
  t.equal(model.activeStage, "download");
  t.equal(model.version, "1.1.0");
  t.equal(model.previous, "1.0.0");
});

t.test("a deployment that ends well is done everywhere", async (t) => {
  const model = after(EVENTS);
  model.finish("deployed", null, 20_000);
  t.equal(statuses(model), "done done done done done done done");
});

t.test("a failing healthcheck fails its stage, and the rollback undoes the switch", async (t) => {
  const events = EVENTS.slice(0, 14);
  events.push(outcome("health", "failed", "answered 503"), { event: "rollback.started", reason: "unhealthy" });
  events.push({ event: "rollback.done", release: "1.0.0-x" });
  const model = after(events);
  model.finish("rolled_back", "The healthcheck failed.", 20_000);
  t.equal(statuses(model), "done done done done done undone failed");
  t.match(model.steps, [{ status: "done" }, { status: "failed", message: "answered 503" }]);
  t.equal(model.note, "rolled back to 1.0.0-x");
});

t.test("a download that fails stops there", async (t) => {
  const model = after(EVENTS.slice(0, 4));
  model.finish("failed", "The signature does not verify.", 5000);
  t.equal(statuses(model), "done failed waiting waiting waiting waiting waiting");
});

t.test("output is kept, but not without end", async (t) => {
  const model = after([]);
  for (let line = 0; line < 1000; line++) model.apply({ event: "output", source: "provision", line: `${line}` }, 0);
  t.equal(model.output.length, 50);
  t.equal(model.output.at(-1), "provision | 999");
});

t.test("a verification that fails is shown as failed at its own stage, wherever the bytes were", async (t) => {
  const hmac = after(EVENTS.slice(0, 4));
  hmac.finish("failed", "The HMAC does not match.", 5000, "signature_invalid");
  t.equal(hmac.stages.find(({ name }) => name === "verify")!.status, "failed");
  t.equal(hmac.stages.filter(({ status }) => status === "failed").length, 1);
  const lost = after(EVENTS.slice(0, 4));
  lost.finish("failed", "The connection was lost.", 5000, "connection_failed");
  t.equal(lost.stages.find(({ name }) => name === "download")!.status, "failed");
});
