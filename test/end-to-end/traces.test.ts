// Only in test:all: traces of whole runs.
import { chmod, cp, mkdir, readFile, writeFile } from "node:fs/promises";
import t from "tap";
import { type CollectedSpan, startCollector } from "../support/collector.ts";
import { World } from "../support/host/world.ts";

const PLUGIN_KEY = "a-plugin-key-that-is-long-enough";
const SIGNATURE_KEY = "a signature key that is long enough";
const COLLECTOR_KEY = "a key of the collector";
const PIPELINE = { traceId: "4bf92f3577b34da6a3ce929d0e0e4736", spanId: "00f067aa0ba902b7" };
const REQUEST = { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331" };

const traceparent = ({ traceId, spanId }: typeof PIPELINE): string => `00-${traceId}-${spanId}-01`;

/** The names from the root of a trace down to a span, each with its service. */
function pathOf(span: CollectedSpan, spans: readonly CollectedSpan[]): string {
  const parent = spans.find(({ spanId }) => spanId === span.parentSpanId);
  const own = `${span.service}: ${span.name}`;
  return parent === undefined ? own : `${pathOf(parent, spans)} > ${own}`;
}

t.test("one trace leads from a pipeline through publisher, hub, agent, runtime and sandbox", async (t) => {
  await using collector = await startCollector();
  const tracing = {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_HEADERS: `x-collector-key=${encodeURIComponent(COLLECTOR_KEY)}`,
  };
  const pipeline = { ...tracing, TRACEPARENT: traceparent(PIPELINE), TRACESTATE: "vendor=1" };
  await using world = await World.make([], tracing);
  await chmod(world.folder, 0o755);
  // A trusted plugin that asks a sandboxed one.
  const board = world.path("source/plugins/berth-board/src/main.js");
  const action = '    tide: (_payload, context) => context.call("tide-table", "next", {}),\n    moor:';
  await writeFile(board, (await readFile(board, "utf8")).replace("    moor:", action));
  const restarts = ["tide-table", "berth-board"]
    .map((id) => `  - {id: restart-${id}, action: restart, plugin: ${id}}\n`)
    .join("");
  const plan = world.path("source/deployment/install.yaml");
  await writeFile(plan, `${await readFile(plan, "utf8")}${restarts}`);

  await world.setVersion("1.0.0");
  await world.programs.run("deploy-publish", world.publishArgs("1.0.0"), { ...world.admin, ...pipeline });
  const root = world.path("host");
  await mkdir(world.path("host/plugins"), { recursive: true });
  await cp(world.path("source/integration.yaml"), world.path("host/integration.yaml"));
  const url = await world.programs.serve(
    "runtime-serve",
    ["--config", world.path("host/integration.yaml"), "--listen", "127.0.0.1:0"],
    { HARBOUR_PLUGIN_KEY: PLUGIN_KEY, HARBOUR_SIGNATURE_KEY: SIGNATURE_KEY, ...tracing, OTEL_SERVICE_NAME: "harbour" },
  );
  const secrets = {
    ...world.hostSecrets(),
    SEALIFT_PLUGIN_SECRET_KEY: SIGNATURE_KEY,
    SEALIFT_PLUGIN_KEY: PLUGIN_KEY,
  };
  const deployed = await world.programs.run<{ deployment_id: string }>(
    "deploy-project",
    [...world.deployArgs(root), "--supervisor", "runtime", "--runtime-url", url],
    { ...secrets, ...pipeline },
  );
  const answer = await fetch(`${url}/plugin/ipc/berth-board/tide`, {
    method: "POST",
    headers: {
      ...{ "x-plugin-key": PLUGIN_KEY, "content-type": "application/json", "x-request-id": "a-call" },
      traceparent: traceparent(REQUEST),
    },
    body: JSON.stringify({ payload: {} }),
  });
  t.equal(answer.status, 200, await answer.text());
  // Services send the rest of their spans when they end.
  await world.programs[Symbol.asyncDispose]();

  const { spans } = collector;
  const paths = new Set(spans.map((span) => pathOf(span, spans)));
  const within = (span: string): boolean => [...paths].some((path) => path === span);
  const publisher = "sealift: deploy-publish";
  const hub = "sealift-hub:";
  const deploys = "/app/deploy/v1";
  t.ok(within(`${publisher} > sealift: seal`));
  const request = `${publisher} > sealift: upload > sealift: hub publish > ${hub} POST `;
  const upload = [...paths].find((path) => path.startsWith(request) && !path.slice(request.length).includes(">"));
  t.ok(upload, "the hub continues the publisher's trace");
  t.ok(within(`${upload} > ${hub} database write`));
  t.ok(within(`${upload} > ${hub} blob store`));

  const agent = "sealift: deploy-project > sealift: deploy";
  for (const phase of ["resolve", "admit", "stage", "install", "switch", "commit", "settle", "report"])
    t.ok(within(`${agent} > sealift: ${phase}`), phase);
  t.ok(within(`${agent} > sealift: install > sealift: step install_plugin`));
  t.ok(within(`${agent} > sealift: step restart > sealift: runtime runtime > harbour: POST`), "the runtime goes on");
  t.ok(
    [...paths].some((path) =>
      path.startsWith(`${agent} > sealift: resolve > sealift: hub auth > ${hub} POST ${deploys}`),
    ),
  );
  t.ok(
    [...paths].some((path) => path.startsWith(`${agent} > sealift: stage > sealift: hub download > ${hub} GET `)),
    "also downloads that come from the hub itself",
  );
  t.strictSame(
    [...new Set(spans.filter(({ service }) => service === "sealift").map(({ traceId }) => traceId))],
    [PIPELINE.traceId],
  );
  const deploy = spans.find(({ name }) => name === "deploy")!;
  t.match(deploy.attributes, { "sealift.deployment_id": deployed.deployment_id, "sealift.outcome": "deployed" });
  t.equal(spans.find(({ name }) => name === "deploy-publish")!.parentSpanId, PIPELINE.spanId);

  const called = "harbour: POST /:plugin/:action > harbour: call berth-board tide > harbour: call tide-table next";
  t.ok(within(called), "a call goes on through the sandbox");
  const call = spans.find(({ name }) => name === "POST /:plugin/:action")!;
  t.match(call, { ...REQUEST, spanId: /^[0-9a-f]{16}$/, parentSpanId: REQUEST.spanId });
  t.equal(call.attributes["sealift.request_id"], "a-call");

  const backwards = spans.filter((span) => BigInt(span.endTimeUnixNano) < BigInt(span.startTimeUnixNano));
  t.strictSame(backwards, []);
  t.ok(collector.headers.every((headers) => headers["x-collector-key"] === COLLECTOR_KEY));
  const sent = collector.texts.join("\n");
  const secretsOf = [...Object.values(world.admin), ...Object.values(secrets), PLUGIN_KEY, COLLECTOR_KEY];
  for (const secret of secretsOf.filter((text) => !text.startsWith("http"))) t.notOk(sent.includes(secret));
  t.notMatch(sent, /signature=|expires=/);
});
