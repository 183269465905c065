import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import t, { type Test } from "tap";
import * as z from "zod";
import { ifFound } from "../../../lib/client/answers.ts";
import { callsOf } from "../../../lib/client/calls.ts";
import type { HubConnection } from "../../../lib/client/hub-connection.ts";
import { page, pageQuery } from "../../../lib/contract/paging.ts";
import { noContent, ofKinds, type Route } from "../../../lib/contract/route.ts";
import { contractRoutes } from "../../support/contract-routes.ts";
import { errorOf } from "../../support/hub/surface-b.ts";

// Holds: what a call of a route sends and answers (lib/client/calls.ts)

const base = { mount: "devkeys", who: { key: [] }, otherHosts: "none", summary: "", tags: [] } as const;
const thing = z.object({ name: z.string() });

const listThings = {
  ...base,
  method: "GET",
  path: "/shops/:shop/things",
  query: pageQuery,
  ok: { 200: page(thing) },
} as const satisfies Route;

const renameThing = {
  ...base,
  method: "PATCH",
  path: "/shops/:shop/things/:id",
  body: thing,
  ok: { 204: noContent },
} as const satisfies Route;

const showKind = ofKinds((kind) => ({ ...base, method: "GET", path: `/${kind}s`, ok: { 200: thing } }));

/** Routes as a module of the contract has them: with values beside them. */
const routes = { MOST_THINGS: 5, thing, listThings, renameThing, showKind };

interface Asked {
  call: string;
  body: string;
}

/** Starts a server that answers each request by its method and URL. @returns what it was asked, and the connection */
async function hubOf(t: Test, answer: (call: string) => { status: number; json?: object }) {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const call = `${request.method} ${request.url}`;
      asked.push({ call, body: Buffer.concat(chunks).toString() });
      const { status, json } = answer(call);
      response.writeHead(status, { "content-type": "application/json" }).end(json && JSON.stringify(json));
    });
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  t.teardown(() => server.close());
  const hubUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const hub: HubConnection = { hubUrl, apiKey: "slk_ours", timeoutMs: 5000 };
  return { asked, hub };
}

t.test("routes are called by their names: lists page by page, others with their answer", async (t) => {
  const { asked, hub } = await hubOf(t, (call) => {
    if (call.startsWith("PATCH")) return { status: 204 };
    if (!call.includes("/shops/")) return { status: 200, json: { name: call.slice(-8) } };
    const isFirst = !call.includes("cursor");
    return { status: 200, json: { items: [{ name: isFirst ? "a" : "b" }], next: isFirst ? "more" : null } };
  });
  const calls = callsOf(routes, hub);
  t.strictSame(Object.keys(calls), ["listThings", "renameThing", "showKind"], "other exports are no calls");
  const things = await Array.fromAsync(calls.listThings({ params: { shop: "s" }, query: { limit: 1 } }));
  t.strictSame(things, [{ name: "a" }, { name: "b" }]);
  t.equal(await calls.renameThing({ params: { shop: "s", id: "a/b" }, body: { name: "c" } }), undefined);
  const kind = "service" as "plugin" | "service";
  t.strictSame(await calls.showKind[kind](), { name: "services" });
  t.strictSame(asked, [
    { call: "GET /devkeys/shops/s/things?limit=1", body: "" },
    { call: "GET /devkeys/shops/s/things?limit=1&cursor=more", body: "" },
    { call: "PATCH /devkeys/shops/s/things/a%2Fb", body: '{"name":"c"}' },
    { call: "GET /devkeys/services", body: "" },
  ]);
});

t.test("parameters that are fixed stand in every path", async (t) => {
  const { asked, hub } = await hubOf(t, (call) =>
    call.startsWith("PATCH") ? { status: 204 } : { status: 200, json: { items: [], next: null } },
  );
  const calls = callsOf(routes, hub, { shop: "s" });
  t.strictSame(await Array.fromAsync(calls.listThings()), []);
  await calls.renameThing({ params: { id: "a" }, body: { name: "c" } });
  t.match(asked, [{ call: "GET /devkeys/shops/s/things" }, { call: "PATCH /devkeys/shops/s/things/a" }]);
});

t.test("an answer is checked against the route", async (t) => {
  const { hub } = await hubOf(t, () => ({ status: 200, json: { items: [{ name: 7 }], next: null } }));
  const calls = callsOf(routes, hub, { shop: "s" });
  t.match(await errorOf(calls.listThings().next()), { code: "bad_answer", kind: "DeploymentError" });
  t.match(await errorOf(calls.showKind.plugin()), { code: "bad_answer" });
});

t.test("what a hub does not have is undefined, and what is no hub's answer is an error", async (t) => {
  const answers: Record<string, { status: number; json?: object }> = {
    plugins: { status: 404, json: { error: "There is none.", detail: "There is none.", code: "not_found" } },
    services: { status: 404, json: { status: "error", msg: "No route." } },
  };
  const { hub } = await hubOf(t, (call) => answers[call.slice(call.lastIndexOf("/") + 1)]!);
  const { showKind } = callsOf(routes, hub);
  t.equal(await ifFound(showKind.plugin()), undefined);
  t.match(await errorOf(ifFound(showKind.service())), { code: "bad_answer", message: /is a runtime, not a hub/ });
});

t.test("a route whose query has a cursor answers with pages, and no other does", async (t) => {
  for (const { query, method, path, ok } of await contractRoutes()) {
    const answer = ok[200];
    const isPage = answer instanceof z.ZodObject && "items" in answer.shape && "next" in answer.shape;
    t.equal(query !== undefined && "cursor" in query.shape, isPage, `${method} ${path}`);
  }
});
