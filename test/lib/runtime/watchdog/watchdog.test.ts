import t from "tap";
import { actions, startHost, trusted, until } from "../../../support/runtime/host.ts";

const ECHO = actions(`echo: (payload) => payload`);

t.test("trusted code that blocks the event loop is noticed, named and shown in health and metrics", async (t) => {
  const source = actions(
    `block: ({ ms }) => { const end = Date.now() + ms; while (Date.now() < end); return "done"; }`,
  );
  const host = await startHost(t, {
    plugins: { guilty: trusted("guilty", source), innocent: trusted("innocent", ECHO) },
    configuration: { observability: { metrics: { blocked_after_ms: 200 } } },
  });
  await new Promise((resolve) => setTimeout(resolve, 300));
  await host.result("guilty", "block", { ms: 1000 });
  // A loaded machine may have held up the loop before.
  await until(() => host.logs.some(({ plugin, msg }) => plugin === "guilty" && msg === "the event loop was blocked"));
  t.ok((await host.counter("sealift_event_loop_blocked_total")) >= 1);
  const { body } = await host.system("GET", "/plugin/ipc/health");
  t.match(body, { status: "degraded", checks: { event_loop: { status: "degraded", message: /guilty/ } } });
  t.equal((await host.call("innocent", "echo")).status, 200);
});
