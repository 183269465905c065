import { request as httpRequest } from "node:http";
import { SignJWT } from "jose";
import t from "tap";
import { type Host, KEY, sandboxed, startHost } from "../../../support/runtime/host.ts";
import { until } from "../../../support/until.ts";

const SECRET = "a-secret-for-tokens-of-at-least-32-bytes";
const [ISSUER, AUDIENCE] = ["https://issuer", "runtime"];
const JWT = { algorithms: ["HS256"], issuer: ISSUER, audience: AUDIENCE, secret_file: "jwt.secret" };

const SOURCE = `
import { Readable } from "node:stream";
import { createHash } from "node:crypto";
let aborted = 0;
const show = (request) => ({
  method: request.method, url: request.url, params: request.params, query: request.query, body: request.body,
  key: request.headers["x-plugin-key"], authorization: request.headers.authorization, claims: request.claims, id: request.id,
});
const hash = async (stream) => {
  const sha = createHash("sha256");
  let bytes = 0;
  for await (const chunk of stream) { sha.update(chunk); bytes += chunk.length; }
  return { bytes, sha256: sha.digest("hex") };
};
export default {
  actions: { aborted: () => aborted },
  routes: [
    { method: ["GET", "PUT"], path: "/items/:id", handler: show },
    { method: "POST", path: "/items", handler: (request, reply) => reply.code(201).header("x-own", ["a", "b"]).send(request.body) },
    { method: "GET", path: "/mine", permissions: ["items:read"], handler: show },
    { method: "GET", path: "/text", handler: () => "plain" },
    { method: "GET", path: "/html", handler: (_, reply) => reply.type("text/html").header("X-Content-Type-Options", "x").header("set-cookie", ["a=1; Path=/", "b=2; Domain=example.org"]).send("<p>") },
    { method: "GET", path: "/nothing", handler: (_, reply) => { reply.code(204).send(); } },
    { method: "GET", path: "/away", handler: (_, reply) => reply.redirect("https://example.org/") },
    { method: "GET", path: "/fail", handler: () => { throw new Error("secret detail"); } },
    { method: "GET", path: "/refuse", handler: () => { throw Object.assign(new Error("no such item"), { statusCode: 404 }); } },
    { method: "POST", path: "/hash", handler: (request) => hash(request.body) },
    { method: "GET", path: "/large/:bytes", handler: (request, reply) => {
      const total = Number(request.params.bytes);
      let sent = 0;
      return reply.send(new Readable({ read() {
        if (sent >= total) return this.push(null);
        const size = Math.min(50_000, total - sent);
        sent += size;
        this.push(Buffer.alloc(size, sent % 251));
      } }));
    } },
    { method: "GET", path: "/cut", handler: (_, reply) => reply.send((async function* () { yield "begun"; throw new Error("broken"); })()) },
    { method: "GET", path: "/endless", handler: async (_, reply, context) => {
      context.signal.addEventListener("abort", () => aborted++);
      return reply.send((async function* () { for (;;) { yield Buffer.alloc(60_000); } })());
    } },
    { method: "GET", path: "/never", handler: (_, reply, context) => new Promise((_, reject) => context.signal.addEventListener("abort", () => { aborted++; reject(context.signal.reason); })) },
  ],
};`;

const start = (t: Parameters<typeof startHost>[0]): Promise<Host> =>
  startHost(t, {
    plugins: { box: sandboxed("box", SOURCE, { resources: { timeout_seconds: 2 } }) },
    files: { "jwt.secret": SECRET },
    configuration: { auth: { jwt: JWT }, app: { server: { port: 0, body_limit: 3_000_000, drain_seconds: 5 } } },
  });

t.test("a sandboxed plugin serves routes as a trusted one does", async (t) => {
  const host = await start(t);
  const json = { "content-type": "application/json" };
  await t.test("requests, answers and errors", async (t) => {
    const headers = { "x-plugin-key": KEY, authorization: "Basic abc", "x-request-id": "mine" };
    const got = await host.request("GET", "/plugin/box/items/a%20b?x=1&y=2&y=3", { headers });
    t.match(got, { status: 200, body: { method: "GET", params: { id: "a b" }, query: { x: "1", y: ["2", "3"] } } });
    t.match(got.body, { url: "/plugin/box/items/a%20b?x=1&y=2&y=3", authorization: "Basic abc", id: "mine" });
    t.equal(got.body.key, undefined, "the operator's key is none of its business");
    t.equal(got.headers.get("x-request-id"), "mine");
    t.match((await host.request("PUT", "/plugin/box/items/1", { headers: json, body: "[1]" })).body, { body: [1] });
    const posted = await host.request("POST", "/plugin/box/items", { headers: json, body: '{"a":"é"}' });
    t.match(posted, { status: 201, body: { a: "é" } });
    t.equal(posted.headers.get("x-own"), "a, b");
    t.equal(got.headers.get("content-type"), "application/json; charset=utf-8");
    const text = await host.request("GET", "/plugin/box/text");
    t.match(text, { status: 200, text: "plain" });
    t.equal(text.headers.get("content-type"), "text/plain; charset=utf-8");
    t.match(await host.request("GET", "/plugin/box/nothing"), { status: 204, text: "" });
    t.match(await host.request("HEAD", "/plugin/box/text"), { status: 200, text: "" });
    const away = await fetch(`${host.url}/plugin/box/away`, { redirect: "manual" });
    t.match([away.status, away.headers.get("location")], [302, "https://example.org/"]);
    const failed = await host.request("GET", "/plugin/box/fail");
    t.match(failed, { status: 500, body: { code: "action_failed" } });
    t.notMatch(failed.text, /secret detail/);
    t.ok(
      host.logs.some((record) => JSON.stringify(record).includes("secret detail")),
      "the log tells it",
    );
    t.match(await host.request("GET", "/plugin/box/refuse"), { status: 400, body: { msg: "no such item" } });
    const bad = await host.request("POST", "/plugin/box/items", { headers: json, body: "{" });
    t.match(bad, { status: 400, body: { code: "bad_json" } });
    t.match(await host.request("GET", "/plugin/box/nope"), { status: 404, body: { code: "not_found" } });
    const page = await host.request("GET", "/plugin/box/html");
    t.match(page.headers.get("content-security-policy"), /^sandbox /, "its pages have an origin of their own");
    t.equal(page.headers.get("x-content-type-options"), "nosniff");
    t.equal(page.headers.get("set-cookie"), "a=1; Path=/; Path=/plugin/box");
  });

  await t.test("tokens are checked before the plugin hears of a request", async (t) => {
    const token = (permissions: string[]): Promise<string> =>
      new SignJWT({ permissions, sub: "ada" })
        .setProtectedHeader({ alg: "HS256" })
        .setIssuer(ISSUER)
        .setAudience(AUDIENCE)
        .setExpirationTime("1h")
        .sign(Buffer.from(SECRET));
    const mine = async (permissions?: string[]) =>
      host.request("GET", "/plugin/box/mine", {
        headers: permissions === undefined ? {} : { authorization: `Bearer ${await token(permissions)}` },
      });
    t.match(await mine(), { status: 401, body: { code: "token_missing" } });
    t.match(await mine(["other"]), { status: 403, body: { code: "forbidden" } });
    const allowed = await mine(["items:read"]);
    t.match(allowed, { status: 200, body: { claims: { sub: "ada" } } });
    t.equal(allowed.body.authorization, undefined, "the token itself is kept back");
  });

  await t.test("bodies of any length stream both ways, within the limit", async (t) => {
    const body = "x".repeat(2_500_000);
    const octets = { "content-type": "application/octet-stream" };
    t.match((await host.request("POST", "/plugin/box/hash", { headers: octets, body })).body, { bytes: 2_500_000 });
    const large = await fetch(`${host.url}/plugin/box/large/5000000`);
    t.equal((await large.arrayBuffer()).byteLength, 5_000_000);
    const tooLarge = await host.request("POST", "/plugin/box/hash", { headers: octets, body: body + body });
    t.match(tooLarge, { status: 413, body: { code: "payload_too_large" } });
    const chunked = await new Promise<number | undefined>((resolve, reject) => {
      const sent = httpRequest(`${host.url}/plugin/box/hash`, { method: "POST", headers: octets }, (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      sent.on("error", reject);
      for (let at = 0; at < 5_000_000; at += 500_000) sent.write(Buffer.alloc(500_000));
      sent.end();
    });
    t.equal(chunked, 413, "also without a length");
    await t.rejects(
      fetch(`${host.url}/plugin/box/cut`).then((response) => response.text()),
      "a cut answer is not a whole one",
    );
  });

  await t.test("a client that leaves aborts the handler, and one that never gets an answer is told", async (t) => {
    for (const path of ["never", "endless"]) {
      const before = (await host.result("box", "aborted")) as number;
      const gone = new AbortController();
      const asked = fetch(`${host.url}/plugin/box/${path}`, { signal: gone.signal });
      await (path === "never" ? until(() => host.runtime.catalogue.find("box")?.instance?.inFlight) : asked);
      gone.abort();
      await asked.then((response) => response.text()).catch(() => undefined);
      await until(async () => (await host.result("box", "aborted")) === before + 1);
    }
    await until(() => host.runtime.catalogue.find("box")?.instance?.inFlight === 0);
    t.match(await host.request("GET", "/plugin/box/never"), { status: 500, body: { code: "timed_out" } });
    t.match(await host.status("box"), { state: "loaded", restarts: 0 }, "nobody lost a process");
  });

  await t.test("a reload fails no request, and after an unload the routes are gone", async (t) => {
    const reloading = host.reload("box");
    const answers = await Promise.all(Array.from({ length: 50 }, () => host.request("GET", "/plugin/box/text")));
    t.ok(answers.every(({ status }) => status === 200));
    t.match(await reloading, { status: 200 });
    t.match(await host.request("GET", "/plugin/box/text"), { status: 200 });
    await host.unload("box");
    t.match(await host.request("GET", "/plugin/box/text"), { status: 404 });
  });
});

t.test("routes that cannot be served in a sandbox fail the load, and say why", async (t) => {
  const route = (text: string): string =>
    `export default { routes: [{ method: "GET", path: "/x", handler: () => 1, ${text} }] };`;
  const sources = {
    pattern: route(`path: "/:id(^(a+)+$)"`),
    method: route(`method: "BREW"`),
    rights: route(`permissions: null`),
    twice: `const r = { method: "GET", path: "/x", handler: () => 1 }; export default { routes: [r, r] };`,
  };
  const plugins = Object.fromEntries(Object.entries(sources).map(([name, source]) => [name, sandboxed(name, source)]));
  const host = await startHost(t, { plugins });
  for (const name of Object.keys(sources)) {
    const { state, error_code, error } = (await host.status(name)) as Record<string, string>;
    t.match({ state, error_code }, { state: "error", error_code: "load_failed" }, `${name}: ${error}`);
  }
});

t.test("a router in a sandbox declares routes, and one that does more fails the load", async (t) => {
  const router = `export default {
    router: async (app) => {
      app.get("/items", () => ["all"]).post("/items", (request, reply) => { reply.code(201); return request.body; });
      app.route({ method: ["PUT", "DELETE"], url: "/items/:id", handler: ({ method, params }) => [method, params.id] });
      app.get("/private", { config: { permissions: ["read"] } }, () => "secret");
      await app.register(async (inner) => { inner.get("/deep", () => "inner"); }, { prefix: "/v1" });
    },
    routes: [{ method: "GET", path: "/plain", handler: () => "plain" }],
  };`;
  const hook = `export default { router: async (app) => { app.addHook("onRequest", check); app.get("/x", () => 1); } };`;
  const option = `export default { router: async (app) => { app.get("/x", { preHandler: check }, () => 1); } };`;
  const plugins = {
    box: sandboxed("box", router),
    hook: sandboxed("hook", `const check = () => {}; ${hook}`),
    option: sandboxed("option", `const check = () => {}; ${option}`),
  };
  const host = await startHost(t, { plugins });
  t.same((await host.request("GET", "/plugin/box/items")).body, ["all"]);
  const headers = { "content-type": "application/json" };
  const posted = await host.request("POST", "/plugin/box/items", { headers, body: '{"a":1}' });
  t.match(posted, { status: 201, body: { a: 1 } });
  t.same((await host.request("DELETE", "/plugin/box/items/7")).body, ["DELETE", "7"]);
  t.equal((await host.request("GET", "/plugin/box/v1/deep")).text, "inner");
  t.equal((await host.request("GET", "/plugin/box/plain")).text, "plain");
  t.match(await host.request("GET", "/plugin/box/private"), { status: 401 });
  t.match(await host.status("hook"), { state: "error", error: /The router uses app\.addHook/ });
  t.match(await host.status("option"), { state: "error", error: /The router uses the option preHandler of a route/ });
});
