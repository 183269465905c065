// Holds: when a watch gives memory back (lib/agent/watch/at-rest.ts)
import { setTimeout as sleep } from "node:timers/promises";
import t from "tap";
import { AtRest } from "../../../../lib/agent/watch/at-rest.ts";
import type { WatchEvent } from "../../../../lib/agent/watch/events.ts";
import { until } from "../../../support/until.ts";

const REST_MS = 200;
const look: WatchEvent = { event: "check.scheduled", target: "a", at: "", failures: 0 };
const news: WatchEvent = { event: "deploy.queued", target: "a", version: "1.0.0" };

t.test("memory is given back after a start, and again after a deployment; checks do not put it off", async (t) => {
  let given = 0;
  using rest = new AtRest(() => given++, REST_MS);
  for (let waited = 0; given === 0; waited++) {
    t.ok(waited < 100, "checks go on");
    rest.observe(look);
    await sleep(20);
  }
  rest.observe(look);
  await sleep(2 * REST_MS);
  t.equal(given, 1, "once");
  const began = performance.now();
  while (performance.now() - began < 2 * REST_MS) {
    rest.observe(news);
    await sleep(20);
  }
  t.equal(given, 1, "not while it is deploying");
  await until(() => given === 2);
});
