import t from "tap";
import { serveWatchMetrics } from "../../../../lib/agent/watch/metrics.ts";
import { Watch } from "../../../../lib/agent/watch/watch.ts";
import { deploymentError } from "../../../../lib/contract/errors.ts";
import { givenTarget } from "../../../support/host/watching.ts";
import { metricsOf } from "../../../support/metrics.ts";

t.test("the watch's numbers are the sum of its checks and deployments", async (t) => {
  const { observe, url, ...listener } = await serveWatchMetrics(
    { host: "127.0.0.1", port: 0 },
    { warn: (message) => t.fail(message) },
  );
  t.teardown(() => listener[Symbol.asyncDispose]());
  const good = givenTarget(t.testdir({ good: {}, bad: {} }) + "/good");
  const bad = givenTarget(t.testdirName + "/bad", { slug: "prj_bad", name: "project:bad" });
  good.publish("1.0.0");
  bad.failing.push(deploymentError("hub_unavailable", "The hub is away."));
  const turns = await new Watch([good, bad], observe).once(AbortSignal.timeout(60_000));
  t.strictSame(
    turns.map(({ outcome }) => outcome),
    ["deployed", "failed"],
  );

  const { value } = await metricsOf(url);
  const target = good.name;
  t.equal(value("sealift_watch_targets"), 2);
  t.equal(value("sealift_watch_checks_total", { outcome: "done" }), 1);
  t.equal(value("sealift_watch_checks_total", { outcome: "failed" }), 1);
  t.equal(value("sealift_watch_failures_total", { code: "hub_unavailable" }), 1);
  t.equal(value("sealift_watch_target_failures", { target: "project:bad" }), 1);
  t.equal(value("sealift_watch_target_failures", { target }), 0);
  t.equal(value("sealift_watch_deployments_total", { outcome: "deployed" }), 1);
  t.equal(value("sealift_watch_deployment_duration_seconds_count", { outcome: "deployed" }), 1);
  t.equal(value("sealift_watch_target_current", { target }), 1);
  t.ok(value("sealift_watch_target_checked_timestamp_seconds", { target })! > 1.7e9);
});
