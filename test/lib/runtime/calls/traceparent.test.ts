import t from "tap";
import { startTracing } from "../../../../lib/support/tracing/start.ts";
import { startCollector } from "../../../support/collector.ts";
import { type Host, KEY, sandboxed, startHost, trusted } from "../../../support/runtime/host.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const CALLER = `00-${TRACE}-00f067aa0ba902b7-01`;

/** A plugin that tells what its context says: in an action, in a route, and in an action of the other plugin. */
const source = (other: string) => `
export default {
  actions: {
    seen: (payload, context) => context.traceparent ?? "none",
    other: (payload, context) => context.call("${other}", "seen"),
  },
  routes: [{ method: "GET", path: "/seen", handler: (request, reply, context) => context.traceparent ?? "none" }],
};`;

const permissions = (other: string) => ({ permissions: [{ resource: `plugin:${other}`, actions: ["seen"] }] });
const plugins = {
  box: sandboxed("box", source("free"), permissions("free")),
  free: trusted("free", source("box"), permissions("box")),
};

const called = async (host: Host, plugin: string, action: string, traceparent?: string): Promise<unknown> => {
  const headers = { "x-plugin-key": KEY, ...(traceparent !== undefined && { traceparent }) };
  return (await host.request("POST", `/plugin/ipc/${plugin}/${action}`, { headers })).body.result;
};
const routed = async (host: Host, plugin: string): Promise<string> =>
  (await host.request("GET", `/plugin/${plugin}/seen`, { headers: { traceparent: CALLER } })).text;

t.test("a plugin sees the trace of its caller in a runtime that traces nothing itself", async (t) => {
  const host = await startHost(t, { plugins });
  for (const plugin of ["box", "free"]) {
    t.equal(await called(host, plugin, "seen", CALLER), CALLER, plugin);
    t.equal(await called(host, plugin, "other", CALLER), CALLER, `${plugin} calls the other one`);
    t.equal(await routed(host, plugin), CALLER, `${plugin}, a route`);
    t.equal(await called(host, plugin, "seen"), "none");
    t.equal(await called(host, plugin, "seen", "no trace"), "none");
  }
});

t.test("in a runtime that traces, a plugin sees the span of its call", async (t) => {
  await using collector = await startCollector();
  const tracing = startTracing(
    { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url },
    { service: "test", version: "1", warn: (message) => t.fail(message) },
  );
  const host = await startHost(t, { plugins });
  const seen: unknown[] = [];
  for (const plugin of ["box", "free"])
    seen.push(
      await called(host, plugin, "seen", CALLER),
      await called(host, plugin, "other", CALLER),
      await routed(host, plugin),
    );
  // A span ends with the answer that it is about.
  await host.runtime.close();
  await tracing[Symbol.asyncDispose]();
  const spans = new Set(collector.spans.map(({ traceId, spanId }) => `00-${traceId}-${spanId}-01`));
  for (const each of seen) t.ok(spans.has(String(each)) && String(each).includes(TRACE), String(each));
  t.equal(new Set(seen).size, 6, "each call has a span of its own");
});
