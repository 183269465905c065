import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import t, { type Test } from "tap";
import { parse } from "yaml";
import { WatchMetrics } from "../../lib/agent/watch/metrics.ts";
import { createRuntime } from "../../lib/runtime/runtime.ts";
import { serveMetrics } from "../../lib/support/metrics/listener.ts";
import { golden } from "../support/golden.ts";
import { startHub } from "../support/hub/harness.ts";
import { startMirror } from "../support/hub/mirrored.ts";
import { metricsOf, parseMetrics } from "../support/metrics.ts";

const OPS = join(import.meta.dirname, "../../ops");

interface Rules {
  groups: { name: string; rules: { alert: string; expr: string; annotations: Record<string, string> }[] }[];
}

const alertRules = async () => parse(await readFile(join(OPS, "prometheus/alerts.yml"), "utf8")) as Rules;

/** The metrics that a PromQL expression names. */
const metricsIn = (expression: string): string[] =>
  [...expression.matchAll(/\bsealift_[a-z_]+\b/g)].map(([name]) => name.replace(/_(bucket|sum|count)$/, ""));

/** The expressions of every dashboard and alert, by where they stand. */
async function expressions(): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const file of await readdir(join(OPS, "grafana"))) {
    const { panels } = JSON.parse(await readFile(join(OPS, "grafana", file), "utf8")) as {
      panels: { title: string; targets: { refId: string; expr: string }[] }[];
    };
    for (const { title, targets } of panels)
      for (const { refId, expr } of targets) found.set(`${file}: ${title} ${refId}`, expr);
  }
  for (const { rules } of (await alertRules()).groups)
    for (const { alert, expr } of rules) found.set(`alerts.yml: ${alert}`, expr);
  return found;
}

/** The names on the pages of a hub, a watch and a runtime that run. */
async function namesOfPrograms(t: Test): Promise<Set<string>> {
  const listen = { host: "127.0.0.1", port: 0 };
  const { hub, url } = await startHub(t, { metricsListen: listen });
  const mirror = await startMirror(t, url, { metricsListen: listen });
  await hub.upkeep.run();
  await using watch = await serveMetrics({
    listen,
    registry: new WatchMetrics().registry,
    onFailure: (error) => t.error(error),
  });
  const runtime = await createRuntime({
    root: t.testdir({ plugins: {} }),
    configuration: {
      app: { secret_key: "a-plugin-key" },
      observability: { metrics: { open: true }, logging: { level: "error" } },
    },
  });
  t.teardown(() => runtime.close());
  const pages = [await metricsOf(hub.metricsUrl!), await metricsOf(watch.url), await metricsOf(mirror.metricsUrl!)];
  const own = parseMetrics((await runtime.app.inject("/metrics")).body);
  return new Set([...pages, own].flatMap(({ names }) => names));
}

t.test("each metric of the dashboards and alerts is on the page of a program that runs", async (t) => {
  const names = await namesOfPrograms(t);
  golden(
    t,
    "metrics.txt",
    [...names]
      .filter((name) => name.startsWith("sealift_"))
      .toSorted()
      .join("\n"),
  );
  const used = new Set<string>();
  for (const [where, expression] of await expressions()) {
    const metrics = metricsIn(expression);
    for (const name of metrics) {
      used.add(name);
      t.ok(names.has(name), `${where}: ${name}`);
    }
    // HAProxy's own are compared with it in test/docs/compose.test.ts.
    t.ok(metrics.length > 0 || /\b(up|haproxy_[a-z_]+)\{/.test(expression), `${where} asks for something`);
    for (const [open, close] of ["()", "{}", "[]"])
      t.equal(expression.split(open!).length, expression.split(close!).length, `${where}: brackets`);
  }
  const unseen = [...names].filter((name) => /^sealift_(hub|watch|mirror)_/.test(name) && !used.has(name));
  t.strictSame(unseen, [], "nothing of hub, watch and mirror is measured that nobody looks at");
});

t.test("each metric is described in docs/metrics.md, and nothing else is", async (t) => {
  const page = await readFile(join(OPS, "../docs/metrics.md"), "utf8");
  const described = new Set([...page.matchAll(/`(sealift_[a-z_]+)`/g)].map(([, name]) => name!));
  const names = await namesOfPrograms(t);
  t.strictSame(
    [...names].filter((name) => !described.has(name)),
    [],
  );
  t.strictSame(
    [...described].filter((name) => !names.has(name)),
    [],
  );
});

t.test("each alert says what to do", async (t) => {
  for (const { rules } of (await alertRules()).groups)
    for (const { alert, annotations } of rules) t.ok(annotations["summary"] && annotations["action"], alert);
});
