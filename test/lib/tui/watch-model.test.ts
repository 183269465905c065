import t from "tap";
import type { WatchEvent } from "../../../lib/agent/watch/events.ts";
import { stateOf } from "../../../lib/agent/watch/target-state.ts";
import { WatchModel } from "../../../lib/tui/watch-model.ts";

const target = "plugin:tides";

const STARTED: WatchEvent = {
  event: "watch.started",
  targets: [
    {
      ...{ target, kind: "plugin", slug: "tides", project_root: "/srv/app", interval_ms: 1000, paused: false },
      ...{ running_version: "1.0.0", latest_version: "1.1.0" },
    },
  ],
};

t.test("a rollback that fails leaves held what was held", async (t) => {
  const model = new WatchModel();
  const versions = { running_version: "1.0.0", latest_version: "1.1.0", changed: false };
  const events: WatchEvent[] = [
    STARTED,
    { event: "check.done", at: "2026-01-01T00:00:00Z", target, ...versions },
    { event: "target.held", target, version: "1.1.0", reason: "quarantined", message: "It fell." },
    {
      ...{ event: "deploy.started", target, kind: "plugin", slug: "tides", requested_version: "previous" },
      ...{ deployment_id: "1", project_root: "/srv/app", rollback: true },
    },
    {
      ...{
        event: "deploy.done",
        at: "2026-01-01T00:00:00Z",
        target,
        outcome: "failed",
        version: null,
        previous_version: "1.0.0",
        duration_ms: 1,
      },
      ...{ code: "no_release", message: "No release from before the running one is kept.", report: null },
    },
    { event: "check.done", at: "2026-01-01T00:00:00Z", target, ...versions },
  ];
  for (const event of events) model.apply(event, 0);
  const view = model.targets.get(target)!;
  t.equal(stateOf(view), "held");
  t.match(view.deployment, { version: "rollback", outcome: "failed" });
});

t.test("what somebody else did to a target takes the place of its history, and of no other's", async (t) => {
  const deed = { code: null, message: null, durationMs: 1 };
  const of = (target: string, at: number, version: string) => ({ ...deed, target, at, version });
  const model = new WatchModel([
    { ...of("plugin:tides", 1, "1.0.0"), status: "success" },
    { ...of("plugin:other", 2, "3.0.0"), status: "success" },
    { ...of("plugin:tides", 3, "1.0.0"), status: "unchanged" },
  ]);
  model.relearn("plugin:tides", [
    { ...of("plugin:tides", 1, "1.0.0"), status: "success" },
    { ...of("plugin:tides", 4, "0.9.0"), status: "went_back" },
  ]);
  t.same(
    model.history.map(({ at }) => at),
    [4, 3, 2, 1],
    "newest first, and a check without a deployment has no report",
  );
});
