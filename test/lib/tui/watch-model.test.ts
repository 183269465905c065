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
    { event: "check.done", target, ...versions },
    { event: "target.held", target, version: "1.1.0", reason: "quarantined", message: "It fell." },
    {
      ...{ event: "deploy.started", target, kind: "plugin", slug: "tides", requested_version: "previous" },
      ...{ deployment_id: "1", project_root: "/srv/app", rollback: true },
    },
    {
      ...{ event: "deploy.done", target, outcome: "failed", version: null, previous_version: "1.0.0", duration_ms: 1 },
      ...{ code: "no_release", message: "No release from before the running one is kept.", report: null },
    },
    { event: "check.done", target, ...versions },
  ];
  for (const event of events) model.apply(event, 0);
  const view = model.targets.get(target)!;
  t.equal(stateOf(view), "held");
  t.match(view.deployment, { version: "rollback", outcome: "failed" });
});
