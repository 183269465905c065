import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import t, { type Test } from "tap";
import { RuntimeClient } from "../../../lib/client/runtime-client.ts";
import { type Answer, hangUp, html, json, redirect, stall } from "../../support/hub/scripted-server.ts";
import { errorOf } from "../../support/hub/surface-b.ts";

const KEY = "the-plugin-key-of-the-runtime";

/** A runtime that answers as it is told. */
async function startRuntime(t: Test, answer: Answer): Promise<{ url: string; seen: IncomingMessage[] }> {
  const seen: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    const count = seen.push(request) - 1;
    const path = request.url!;
    const facts = { route: "other", method: request.method!, path, headers: request.headers, body: Buffer.alloc(0) };
    request.resume().on("end", () => answer(response, { ...facts, route: "other" }, count));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}

const clientOf = (runtimeUrl: string, timeoutMs = 5000) => new RuntimeClient({ runtimeUrl, pluginKey: KEY, timeoutMs });

const calls = (client: RuntimeClient): Record<string, () => Promise<unknown>> => ({
  load: () => client.load("tides"),
  reload: () => client.reload("tides"),
  unload: () => client.unload("tides"),
  status: () => client.status(),
  health: () => client.health(),
});
const NAMES = Object.keys(calls(clientOf("http://127.0.0.1:1")));
const isRead = (name: string): boolean => name === "status" || name === "health";

t.test("each call is the contract's route with the plugin key", async (t) => {
  const truth = { status: "ok", plugins: [{ name: "tides", state: "idle", more: 1 }], count: 1, checks: {} };
  const { url, seen } = await startRuntime(t, json(200, truth));
  const client = clientOf(`${url}/`);
  for (const name of NAMES) await calls(client)[name]!();
  await client.load("a/b ü");
  t.strictSame(
    seen.map(({ method, url: path }) => `${method} ${path}`),
    [
      "POST /plugin/ipc/tides/load",
      "POST /plugin/ipc/tides/reload",
      "DELETE /plugin/ipc/tides/unload",
      "GET /plugin/ipc/status",
      "GET /plugin/ipc/health",
      "POST /plugin/ipc/a%2Fb%20%C3%BC/load",
    ],
  );
  for (const { headers } of seen) t.equal(headers["x-plugin-key"], KEY);
});

t.test("every refusal has a kind, a code, the status and the runtime's text; only reads are tried again", async (t) => {
  const expected: Record<number, object> = {
    400: { kind: "DeploymentError" },
    401: { kind: "AuthenticationError", code: "key_rejected", exitCode: 3 },
    404: { kind: "DeploymentError", code: "not_found", exitCode: 1 },
    500: { kind: "DeploymentError", code: "runtime_unavailable", exitCode: 75 },
    503: { kind: "DeploymentError", code: "runtime_unavailable", exitCode: 75 },
  };
  await Promise.all(
    NAMES.flatMap((name) =>
      Object.entries(expected).map(async ([status, error]) => {
        const body = { status: "error", msg: "no", error: `the plugin says no, ${KEY}`, code: "action_failed" };
        const { url, seen } = await startRuntime(t, json(Number(status), body));
        const found = await errorOf(calls(clientOf(url))[name]!());
        t.match(found, { ...error, status: Number(status), hubCode: "action_failed" }, `${name} ${status}`);
        t.ok(found.message.includes(status) && found.message.includes("the plugin says no"), found.message);
        t.notOk(found.message.includes(KEY), "the key is not told");
        t.equal(seen.length, isRead(name) && Number(status) >= 500 ? 4 : 1, `${name} ${status}: requests`);
      }),
    ),
  );
});

t.test("an answer of another shape is bad_answer", async (t) => {
  for (const answer of [html, json(200, []), json(200, { status: 1, plugins: [{ state: "dancing" }] })]) {
    const { url } = await startRuntime(t, answer);
    for (const name of NAMES) {
      const error = await errorOf(calls(clientOf(url))[name]!());
      t.match(error, { kind: "DeploymentError", code: "bad_answer", status: 200 }, name);
    }
  }
});

t.test("a runtime that is not there, hangs up or is silent is told from one that refuses", async (t) => {
  const [gone, silent] = [await startRuntime(t, hangUp), await startRuntime(t, stall)];
  await Promise.all([
    ...NAMES.map(async (name) => {
      const before = gone.seen.length;
      const error = await errorOf(calls(clientOf(gone.url))[name]!());
      t.match(error, { kind: "DeploymentError", code: "connection_failed", exitCode: 75 }, name);
      t.ok(gone.seen.length > before);
    }),
    ...["load", "reload", "unload"].map(async (name) => {
      const error = await errorOf(calls(clientOf(silent.url, 200))[name]!());
      t.match(error, { kind: "DeploymentError", code: "timed_out", exitCode: 75 }, name);
    }),
    (async () => {
      const error = await errorOf(clientOf("http://127.0.0.1:1").load("tides"));
      t.match(error, { code: "connection_failed" });
    })(),
  ]);
  t.equal(silent.seen.length, 3, "nothing that changes the runtime is tried twice");
});

t.test("a redirect to another origin does not get the plugin key", async (t) => {
  const other = await startRuntime(t, json(200, { status: "ok" }));
  const { url } = await startRuntime(
    t,
    redirect(307, ({ path }) => other.url + path),
  );
  await clientOf(url).load("tides");
  t.equal(other.seen[0]!.headers["x-plugin-key"], undefined);
});
