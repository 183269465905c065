import t from "tap";
import { parseTraceparent, traceHeaders } from "../../../../lib/support/trace-context.ts";
import { samplerOf } from "../../../../lib/support/tracing/settings.ts";
import { startTracing } from "../../../../lib/support/tracing/start.ts";
import { wantsTraces } from "../../../../lib/support/tracing/wanted.ts";
import { traced } from "../../../../lib/support/work.ts";
import { startCollector } from "../../../support/collector.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN = "00f067aa0ba902b7";

t.test("traceparent is read as the specification says, and written again", async (t) => {
  const context = parseTraceparent(`00-${TRACE}-${SPAN}-01`, "a=1,b=2");
  t.strictSame(context, { traceId: TRACE, spanId: SPAN, isSampled: true, state: "a=1,b=2" });
  t.strictSame(traceHeaders(context!), { traceparent: `00-${TRACE}-${SPAN}-01`, tracestate: "a=1,b=2" });
  t.equal(parseTraceparent(`00-${TRACE}-${SPAN}-02`)?.isSampled, false, "only the last bit says it");
  t.ok(parseTraceparent(`cc-${TRACE}-${SPAN}-01-what the future brings`));
  const ignored = [
    `00-${TRACE}-${SPAN}-01-more`,
    `ff-${TRACE}-${SPAN}-01`,
    `00-${"0".repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${"0".repeat(16)}-01`,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}`,
    ` 00-${TRACE}-${SPAN}-01`,
    `cc-${TRACE}-${SPAN}-01-${"x".repeat(1000)}`,
    "",
    undefined,
    ["00"],
  ];
  for (const text of ignored) t.equal(parseTraceparent(text), undefined, String(text));
  for (const state of ["", "x".repeat(513), "a=\n"])
    t.equal(parseTraceparent(`00-${TRACE}-${SPAN}-01`, state)?.state, undefined);
});

t.test("samplers have the names of OpenTelemetry", async (t) => {
  const sampled = { traceId: TRACE, spanId: SPAN, isSampled: true };
  const unsampled = { ...sampled, isSampled: false };
  t.equal(samplerOf()?.(TRACE, undefined), true);
  t.equal(samplerOf()?.(TRACE, unsampled), false);
  t.equal(samplerOf("always_on")?.(TRACE, unsampled), true);
  t.equal(samplerOf("parentbased_always_off")?.(TRACE, undefined), false);
  t.equal(samplerOf("parentbased_always_off")?.(TRACE, sampled), true);
  const half = samplerOf("parentbased_traceidratio", "0.5");
  t.equal(half?.(`${"0".repeat(19)}7ffffffffffff`, undefined), true);
  t.equal(half?.(`${"0".repeat(19)}8000000000000`, undefined), false);
  t.equal(samplerOf("traceidratio", "0")?.(`1${"0".repeat(31)}`, undefined), false);
  for (const [name, argument] of [
    ["jaeger_remote"],
    ["traceidratio", "2"],
    ["traceidratio", "x"],
    ["traceidratio", " "],
  ])
    t.equal(samplerOf(name, argument), undefined);
});

t.test("nothing is traced unless an endpoint says so", async (t) => {
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:4318" };
  t.equal(wantsTraces({}), false);
  t.equal(wantsTraces({ OTEL_EXPORTER_OTLP_ENDPOINT: "" }), false);
  t.equal(wantsTraces(endpoint), true);
  t.equal(wantsTraces({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://127.0.0.1:4318/v1/traces" }), true);
  t.equal(wantsTraces({ ...endpoint, OTEL_SDK_DISABLED: "TRUE" }), false);
  t.equal(wantsTraces({ ...endpoint, OTEL_TRACES_EXPORTER: "none" }), false);
});

/** Turns tracing on for a test. */
function tracing(env: Record<string, string>): AsyncDisposable & { warnings: string[] } {
  const warnings: string[] = [];
  const facts = { service: "test", version: "1", warn: (message: string) => void warnings.push(message) };
  return Object.assign(startTracing(env, facts), { warnings });
}

t.test("settings that cannot be used are told without their values, and stop no work", async (t) => {
  await using collector = await startCollector();
  {
    await using bad = tracing({ OTEL_EXPORTER_OTLP_ENDPOINT: "ftp://user:hidden@host" });
    t.equal(await traced("work", {}, async () => "done"), "done");
    t.match(bad.warnings, [/not an http or https URL/]);
    t.notMatch(bad.warnings.join(), "hidden");
  }
  const odd = {
    OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/`,
    OTEL_EXPORTER_OTLP_PROTOCOL: "grpc",
    OTEL_TRACES_SAMPLER: "xray",
    OTEL_EXPORTER_OTLP_HEADERS: "good=a%20value,bad header=hidden,worse=%0d%0ahidden",
    OTEL_RESOURCE_ATTRIBUTES: "service.name=of-the-resource,deployment.environment=test",
  };
  const warnings = await (async () => {
    await using started = tracing(odd);
    await t.rejects(
      traced("work", { number: 1, part: 0.5, yes: true, nothing: undefined }, async () => {
        throw Object.assign(new Error("a hidden text"), { code: "went_wrong" });
      }),
    );
    return started.warnings;
  })();
  t.match(warnings, [/grpc/, /OTEL_TRACES_SAMPLER/, /OTEL_EXPORTER_OTLP_HEADERS/]);
  t.notMatch(warnings.join(), "hidden");
  t.match(collector.headers[0], { good: "a value" });
  t.notMatch(collector.texts.join(), "hidden");
  const [span] = collector.spans;
  t.match(span, { service: "of-the-resource", name: "work", status: { code: 2 } });
  t.strictSame({ ...span!.attributes }, { number: 1, part: 0.5, yes: true, "error.type": "went_wrong" });
  t.match(collector.texts[0], '{"key":"part","value":{"doubleValue":0.5}}');
});

t.test("a collector that takes nothing is told about once, and what was lost is counted", async (t) => {
  await using collector = await startCollector();
  const send600 = async (status: number): Promise<string[]> => {
    collector.status = status;
    const started = tracing({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
    for (let i = 0; i < 600; i++) await traced("work", {}, async () => i);
    await started[Symbol.asyncDispose]();
    return started.warnings;
  };
  t.match(await send600(400), [/answered 400/, /^600 spans of traces were lost/]);
  t.match(await send600(503), [/answered 503/, /^600 spans of traces were lost/]);
  t.strictSame(await send600(200), []);
  t.equal(collector.spans.length, 600);
  const gone = collector.url;
  await collector[Symbol.asyncDispose]();
  await using away = tracing({ OTEL_EXPORTER_OTLP_ENDPOINT: gone });
  await traced("work", {}, async () => undefined);
  await away[Symbol.asyncDispose]();
  t.match(away.warnings, [/ECONNREFUSED/, /^1 spans/]);
});
