import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import t, { type Test } from "tap";
import * as z from "zod";
import { ask, type Asking, askPages, requestOf } from "../../../lib/client/ask.ts";
import { page, pageQuery } from "../../../lib/contract/paging.ts";
import { noContent, type Route } from "../../../lib/contract/route.ts";

const base = { mount: "devkeys", who: { key: [] }, otherHosts: "none", summary: "", tags: [] } as const;

const asking = (hubUrl: string): Asking => ({
  operation: "keys",
  hub: { hubUrl, apiKey: "slk_ours", timeoutMs: 5000 },
});

/** Answers every request with what `answer` makes of its method and URL. */
async function serverOf(t: Test, answer: (call: string) => { status: number; json?: object }): Promise<Asking> {
  const server = createServer((request, response) => {
    const { status, json } = answer(`${request.method} ${request.url}`);
    response.writeHead(status, { "content-type": "application/json" }).end(json && JSON.stringify(json));
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  t.teardown(() => server.close());
  return asking(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
}

t.test("a request has the method, path, query and body that its route describes", async (t) => {
  const route = {
    ...base,
    method: "PUT",
    path: "/things/:id/parts/:part",
    query: z.object({ force: z.string().optional(), reason: z.string().optional() }),
    body: z.object({ name: z.string() }),
    ok: { 204: noContent },
  } as const satisfies Route;
  const question = { params: { id: "a/b", part: "c" }, query: { force: true, reason: undefined }, body: { name: "x" } };
  t.match(requestOf(route, question, asking("http://hub/")), {
    method: "PUT",
    url: "http://hub/devkeys/things/a%2Fb/parts/c?force=true",
    json: { name: "x" },
    credentials: { "X-API-Key": "slk_ours" },
    secretBody: undefined,
  });
  const step = { ...question, params: { id: "..", part: "c" } };
  t.throws(() => requestOf(route, step, asking("http://hub")), { code: "usage" });
});

t.test("secret fields of a body are kept from errors and from other origins", async (t) => {
  const body = z.object({ url: z.string(), name: z.string() });
  const route = {
    ...{ ...base, method: "POST", path: "/things", body, secret: ["url"], ok: { 204: noContent } },
  } as const satisfies Route;
  const request = requestOf(route, { body: { url: "https://s3cret", name: "plain" } }, asking("http://hub"));
  t.match(request, { secretBody: true, secrets: ["slk_ours", "https://s3cret"] });
});

t.test("an answer is what the route promises, or an error", async (t) => {
  const show = { ...base, method: "GET", path: "/it", ok: { 200: z.object({ name: z.string() }) } } as const;
  const remove = { ...base, method: "DELETE", path: "/it", ok: { 204: noContent } } as const;
  const hub = await serverOf(t, (call) =>
    call.startsWith("GET") ? { status: 200, json: { name: "x", more: 1 } } : { status: 204 },
  );
  t.strictSame(await ask(show, {}, hub), { name: "x" });
  t.equal(await ask(remove, {}, hub), undefined);
  const odd = await serverOf(t, () => ({ status: 200, json: {} }));
  await t.rejects(ask(show, {}, odd), { code: "bad_answer" });
  await t.rejects(ask(remove, {}, odd), /answered 200/);
});

t.test("a list is read to its last page, with its query on each", async (t) => {
  const query = pageQuery.extend({ q: z.string().optional() });
  const route = { ...base, method: "GET", path: "/list", query, ok: { 200: page(z.string()) } } as const;
  const calls: string[] = [];
  const hub = await serverOf(t, (call) => {
    calls.push(call);
    const isFirst = !call.includes("cursor");
    return { status: 200, json: { items: isFirst ? ["a", "b"] : ["c"], next: isFirst ? "b&" : null } };
  });
  t.strictSame(await Array.fromAsync(askPages(route, { query: { q: "x" } }, hub)), ["a", "b", "c"]);
  t.strictSame(calls, ["GET /devkeys/list?q=x", "GET /devkeys/list?q=x&cursor=b%26"]);
});
