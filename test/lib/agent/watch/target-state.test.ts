import { spawnSync } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import t from "tap";
import { parse, stringify } from "yaml";
import { inspectTarget } from "../../../../lib/agent/target-status.ts";
import type { WatchEvent } from "../../../../lib/agent/watch/events.ts";
import { WatchMetrics } from "../../../../lib/agent/watch/metrics.ts";
import { removePin, writePin } from "../../../../lib/agent/watch/state.ts";
import {
  factsAfter,
  factsAtStart,
  stateOf,
  TARGET_STATES,
  type TargetState,
  TargetStates,
} from "../../../../lib/agent/watch/target-state.ts";
import { deploymentError } from "../../../../lib/contract/errors.ts";
import { layoutOf } from "../../../../lib/releases/layout.ts";
import { WatchModel } from "../../../../lib/tui/watch-model.ts";
import { givenTarget, watching } from "../../../support/host/watching.ts";
import { needs, programFile } from "../../../support/programs/optional.ts";

const ALERTS = new URL("../../../../ops/prometheus/alerts.yml", import.meta.url);
const TARGET = "plugin:tides";

/** Returns what a scrape says of the only target. */
async function scraped(metrics: WatchMetrics): Promise<{ state: unknown; held: number; current: number }> {
  const texts: string[] = [];
  for (const { name, values } of await metrics.registry.getMetricsAsJSON()) {
    for (const { labels, value } of values) texts.push(`${name} ${labels["state"] ?? ""} ${value}`);
  }
  const of = (name: string) => texts.find((text) => text.startsWith(`sealift_watch_target_${name} `))!.split(" ");
  return { state: of("state")[1], held: Number(of("held")[2]), current: Number(of("current")[2]) };
}

t.test("a target in each of its states is the same to dashboard, metrics, systemd and status", async (t) => {
  const root = t.testdir({});
  const given = givenTarget(root, { intervalMs: 60_000 });
  const targetName = given.source("latest").target;
  const layout = layoutOf(root);
  const loop = watching(t, [given]);
  const dashboard = new WatchModel();
  const metrics = new WatchMetrics();
  const states = new TargetStates();
  let heard = 0;
  const seen = new Set<TargetState>();

  /** Waits for the end of a turn, and compares all that tell of it. */
  async function agree(state: TargetState, { held, current }: { held: 0 | 1; current: 0 | 1 }): Promise<void> {
    await loop.until("check.scheduled");
    for (; heard < loop.events.length; heard++) {
      const event = loop.events[heard]!;
      for (const each of [dashboard, metrics, states]) each.apply(event, Date.now());
      // What passes by is the same as well.
      const shown = stateOf(dashboard.targets.get(given.name)!);
      t.equal((await scraped(metrics)).state, shown, event.event);
      seen.add(shown);
    }
    t.equal(stateOf(dashboard.targets.get(given.name)!), state, `dashboard: ${state}`);
    t.strictSame(await scraped(metrics), { state, held, current }, "metrics");
    const { summary } = states;
    if (["held", "failing", "paused", "pinned"].includes(state)) t.equal(summary, `1 target, 1 ${state}`, "systemd");
    else t.equal(summary, "1 target", "systemd");
    // The state is kept beside the loop, which does not wait for the disk.
    const told = async () => (await inspectTarget(layout, targetName)).watch?.is;
    for (let tries = 0; tries < 200 && (await told()) !== state; tries++) await setTimeout(10);
    t.equal(await told(), state, "status");
  }

  await agree("unpublished", { held: 0, current: 1 });
  given.publish("1.0.0");
  await loop.watch.act(given.name, "check");
  await agree("current", { held: 0, current: 1 });
  await loop.watch.act(given.name, "pause");
  given.publish("1.1.0");
  await loop.watch.act(given.name, "check");
  await agree("paused", { held: 1, current: 0 });
  await loop.watch.act(given.name, "check");
  await agree("paused", { held: 1, current: 0 });
  given.publish("0.9.0");
  await loop.watch.act(given.name, "resume");
  await agree("held", { held: 1, current: 0 });
  for (let check = 0; check < 3; check++) {
    await loop.watch.act(given.name, "check");
    await agree("held", { held: 1, current: 0 });
  }
  given.failing.push(deploymentError("hub_unavailable", "The hub is away."));
  given.publish("1.0.0");
  await loop.watch.act(given.name, "check");
  await agree("held", { held: 1, current: 0 });
  await loop.watch.act(given.name, "check");
  await agree("current", { held: 0, current: 1 });
  given.failing.push(deploymentError("hub_unavailable", "The hub is away."));
  await loop.watch.act(given.name, "check");
  await agree("failing", { held: 0, current: 1 });
  await writePin(layout, targetName, { version: "1.0.0", reason: null, at: new Date().toISOString() });
  given.publish("1.2.0");
  await loop.watch.act(given.name, "check");
  await agree("pinned", { held: 1, current: 0 });
  await removePin(layout, targetName);
  await loop.watch.act(given.name, "check");
  await agree("current", { held: 0, current: 1 });
  t.strictSame(
    TARGET_STATES.filter((state) => !seen.has(state)),
    [],
    "every state was passed through",
  );
  await loop.stop();
  t.equal((await inspectTarget(layout, targetName)).watch, undefined, "nobody watches any more");
});

t.test("a deployment that fails counts until one ends well", async (t) => {
  let facts = factsAtStart({
    ...{ target: TARGET, kind: "plugin", slug: "tides", project_root: "/srv", interval_ms: 1000 },
    ...{ running_version: "1.0.0", latest_version: "1.0.0", paused: false },
  });
  const told = (...events: WatchEvent[]): TargetState => {
    for (const event of events) facts = factsAfter(facts, event, 0);
    return stateOf(facts);
  };
  const checked = {
    event: "check.done",
    at: "2026-01-01T00:00:00Z",
    target: TARGET,
    running_version: "1.0.0",
    changed: true,
  } as const;
  const done = {
    event: "deploy.done",
    at: "2026-01-01T00:00:00Z",
    target: TARGET,
    previous_version: "1.0.0",
    duration_ms: 1,
    report: null,
  } as const;
  const scheduled = (failures: number): WatchEvent => ({
    ...{ event: "check.scheduled", target: TARGET, at: "2026-01-01T00:00:00Z", failures, held: null, pin: null },
  });
  told({ ...checked, latest_version: "1.1.0" });
  t.equal(told({ ...done, outcome: "failed", version: "1.1.0", code: "disk_full", message: "Full." }), "failing");
  t.equal(told(scheduled(1)), "failing");
  t.equal(told({ ...checked, latest_version: "1.1.0" }), "failing", "an answer of the hub makes nothing good");
  t.equal(facts.failures, 1);
  t.equal(told({ ...done, outcome: "deployed", version: "1.1.0", code: null, message: null }, scheduled(0)), "current");
});

t.test(
  "alerts fire for targets that are behind or fail, and for none that is held back",
  { skip: needs("promtool") },
  async (t) => {
    const { groups } = parse(await readFile(ALERTS, "utf8")) as { groups: { rules: Rule[] }[] };
    const rules = groups.flatMap(({ rules: each }) => each);
    const series = (name: string, target: string, value: number) => ({
      series: `sealift_watch_target_${name}{target="${target}",instance="h",job="sealift-watch"}`,
      values: `${value}x120`,
    });
    /** The only alert of that name. */
    const only = (alertname: string, target: string, value: number) => {
      const { annotations } = rules.find(({ alert }) => alert === alertname)!;
      const filled = Object.entries(annotations).map(([name, text]) => [
        name,
        text
          .replace("{{ $labels.target }}", target)
          .replace("{{ $labels.instance }}", "h")
          .replace("{{ $value }}", `${value}`),
      ]);
      const exp_labels = { severity: "warning", target, instance: "h", job: "sealift-watch" };
      const exp_alerts = [{ exp_labels, exp_annotations: Object.fromEntries(filled) as object }];
      return { eval_time: "1h", alertname, exp_alerts };
    };
    const tests = join(t.testdir({}), "tests.yml");
    const input_series = [
      ...["held", "behind", "current"].flatMap((state) => [
        series("held", state, state === "held" ? 1 : 0),
        series("current", state, state === "current" ? 1 : 0),
      ]),
      series("failures", "failing", 6),
    ];
    const alert_rule_test = [only("WatchBehind", "behind", 0), only("WatchFails", "failing", 6)];
    const test = { interval: "1m", input_series, alert_rule_test };
    await writeFile(tests, stringify({ rule_files: [ALERTS.pathname], evaluation_interval: "1m", tests: [test] }));
    const { status, stdout, stderr } = spawnSync(programFile("promtool"), ["test", "rules", tests], {
      encoding: "utf8",
    });
    t.equal(status, 0, stdout + stderr);
  },
);

interface Rule {
  alert: string;
  annotations: Record<string, string>;
}

t.test("systemd's line names hubs without hints until they hint again", async (t) => {
  const states = new TargetStates();
  const hub = "https://hub.example";
  const lost = { code: "connection_failed", message: "away", at: "2026-11-24T12:00:00Z" } as const;
  for (const each of [hub, hub, "https://other.example"]) states.apply({ event: "hints.lost", hub: each, ...lost }, 0);
  t.equal(states.summary, "0 targets, no hints from 2 hubs");
  states.apply({ event: "hints.connected", hub, targets: 1 }, 0);
  t.equal(states.summary, "0 targets, no hints from 1 hub");
});
