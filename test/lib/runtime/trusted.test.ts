import { generateKeyPairSync } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { createServer as createHttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, SignJWT } from "jose";
import t from "tap";
import { writePluginSignature } from "../../../lib/artifact/signatures/plugin-signature.ts";
import { actions, type Host, sandboxed, startHost, trusted, until } from "../../support/runtime/host.ts";

const ECHO = actions(`echo: (payload) => payload`);

t.test(
  "strict_trusted refuses a missing, foreign or outdated plugin.sig, and files that were not signed",
  async (t) => {
    const secret = "signing-secret";
    const host = await startHost(t, {
      plugins: Object.fromEntries(
        ["good", "missing", "foreign", "outdated", "altered"]
          .map((name) => [name, trusted(name, ECHO)])
          .concat([["boxed", sandboxed("boxed", ECHO)]]),
      ) as Record<string, ReturnType<typeof trusted>>,
      configuration: { plugins: { strict_trusted: true, secret_key: secret } },
      listen: false,
    });
    const sign = (id: string, name: string, version: string, key: string) =>
      writePluginSignature(host.path("plugins", id), { name, version, entryPoint: "src/main.mjs" }, key);
    await sign("good", "good", "1.0.0", secret);
    await sign("foreign", "foreign", "1.0.0", "another secret");
    await sign("outdated", "outdated", "0.9.0", secret);
    await sign("altered", "altered", "1.0.0", secret);
    await writeFile(host.path("plugins/altered/src/added.mjs"), "1");
    host.url = await host.runtime.listen();
    t.equal((await host.call("good", "echo")).status, 200);
    t.equal((await host.call("boxed", "echo")).status, 200, "a sandboxed plugin needs none");
    const codes = {
      missing: "signature_missing",
      foreign: "signature_invalid",
      outdated: "signature_invalid",
      altered: "signature_invalid",
    };
    for (const [name, code] of Object.entries(codes)) {
      t.match(await host.status(name), { state: "error", error_code: code }, name);
    }
  },
);

t.test("strict_trusted is the default, and without a key every trusted plugin is refused", async (t) => {
  const host = await startHost(t, {
    plugins: { plug: trusted("plug", ECHO) },
    configuration: { plugins: { strict_trusted: undefined } },
  });
  t.match(await host.status("plug"), { state: "error", error_code: "signature_missing", error: /plugins\.secret_key/ });
});

t.test(
  "plugins are written as ES modules, CommonJS or TypeScript, and import sealift/sdk with nothing installed",
  async (t) => {
    const esm = `import { definePlugin } from "sealift/sdk"; export default definePlugin({ actions: { kind: () => "esm" } });`;
    const cjs = `const { definePlugin } = require("sealift/sdk"); module.exports = definePlugin({ actions: { kind: () => "cjs" } });`;
    const ts = `import { definePlugin, type PluginContext } from "sealift/sdk";
    export default definePlugin({ actions: { kind: (_payload: unknown, context: PluginContext): string => "ts " + context.plugin.name } });`;
    const forms: Record<string, [file: string, source: string, kind: string, packageJson?: string]> = {
      mjs: ["src/main.mjs", esm, "esm"],
      cjs: ["src/main.cjs", cjs, "cjs"],
      ts: ["src/main.ts", ts, "ts "],
      js: ["src/main.js", esm, "esm"],
      "js-cjs": ["src/main.js", cjs, "cjs"],
      "js-module": ["src/main.js", esm, "esm", '{"type":"module"}'],
      "js-commonjs": ["src/main.js", cjs, "cjs", '{"type":"commonjs"}'],
    };
    const plugins: Record<string, ReturnType<typeof trusted>> = {};
    for (const [form, [file, source, , packageJson]] of Object.entries(forms)) {
      for (const mode of ["trusted", "sandboxed"]) {
        const name = `${mode}-${form}`;
        const files = { [file]: source, ...(packageJson !== undefined && { "package.json": packageJson }) };
        plugins[name] = { descriptor: { name, version: "1.0.0", execution_mode: mode, entry_point: file }, files };
      }
    }
    // Of its own scope: what this repository's package.json says of `.js` files must not reach it.
    const host = await startHost(t, { plugins, files: { "package.json": "{}" } });
    for (const [form, [, , kind]] of Object.entries(forms)) {
      for (const mode of ["trusted", "sandboxed"]) {
        const name = `${mode}-${form}`;
        t.equal(await host.result(name, "kind"), form === "ts" ? kind + name : kind, name);
      }
    }
  },
);

t.test("CommonJS modules of a plugin are loaded anew, and nothing of the old ones is kept", async (t) => {
  const plugin = (text: string) => ({
    descriptor: { name: "plug", version: "1.0.0", execution_mode: "trusted", entry_point: "main.cjs" },
    files: {
      "main.cjs": `const { text } = require("./text.cjs"); exports.actions = { text: () => text };`,
      "text.cjs": `exports.text = "${text}";`,
    },
  });
  const host = await startHost(t, { plugins: { plug: plugin("one") } });
  t.equal(await host.result("plug", "text"), "one");
  for (let round = 0; round < 20; round++) {
    host.install("plug", plugin(`round ${round}`));
    await host.reload("plug");
    t.equal(await host.result("plug", "text"), `round ${round}`);
  }
  t.notOk("generations" in (await host.status("plug")), "no ES module of it is held");
  const { createRequire } = await import("node:module");
  const { cache } = createRequire(import.meta.url);
  const own = Object.keys(cache).filter((path) => path.startsWith(host.path("plugins")));
  t.equal(own.length, 2);
  await host.unload("plug");
  t.equal(Object.keys(cache).filter((path) => path.startsWith(host.path("plugins"))).length, 0);
  const children = Object.values(cache).flatMap((module) => module?.children ?? []);
  t.equal(children.filter(({ filename }) => filename.startsWith(host.path("plugins"))).length, 0);
});

t.test("generations of ES modules and their bytes are counted, and too many turn health to degraded", async (t) => {
  const host = await startHost(t, {
    plugins: { plug: trusted("plug", ECHO) },
    configuration: { plugins: { max_generation_bytes: Buffer.byteLength(ECHO) * 3 } },
  });
  for (let round = 0; round < 2; round++) await host.reload("plug");
  t.match(await host.status("plug"), { generations: 3, generation_bytes: Buffer.byteLength(ECHO) * 3 });
  t.match((await host.system("GET", "/plugin/ipc/health")).body, { status: "healthy" });
  await host.reload("plug");
  const { status, body } = await host.system("GET", "/plugin/ipc/health");
  t.equal(status, 200);
  t.match(body, { status: "degraded", checks: { modules: { status: "degraded", message: /restart the runtime/ } } });
});

t.test("a router of the plugin's own serves below its name, with bodies, parameters and any method", async (t) => {
  const source = `export default {
    router: async (app) => {
      app.get("/items", () => ["all"]);
      app.post("/items", (request, reply) => { reply.code(201); return { got: request.body, id: request.id }; });
      app.route({ method: "DELETE", url: "/items/:id", handler: (request) => ({ deleted: request.params.id, q: request.query }) });
      app.get("/fail", () => { throw new Error("secret detail"); });
    },
    routes: [{ method: ["GET", "PUT"], path: "/both", handler: (request, reply, context) => ({ method: request.method, plugin: context.plugin.name }) }],
  };`;
  const host = await startHost(t, { plugins: { plug: trusted("plug", source) } });
  t.same((await host.request("GET", "/plugin/plug/items")).body, ["all"]);
  const headers = { "content-type": "application/json", "x-request-id": "mine" };
  const posted = await host.request("POST", "/plugin/plug/items", { headers, body: '{"a":1}' });
  t.match(posted, { status: 201, body: { got: { a: 1 }, id: "mine" } });
  t.equal(posted.headers.get("x-request-id"), "mine");
  t.same((await host.request("DELETE", "/plugin/plug/items/7?x=1")).body, { deleted: "7", q: { x: "1" } });
  t.same((await host.request("PUT", "/plugin/plug/both")).body, { method: "PUT", plugin: "plug" });
  t.match(await host.request("GET", "/plugin/plug/nope"), {
    status: 404,
    body: { status: "error", code: "not_found" },
  });
  const failed = await host.request("GET", "/plugin/plug/fail");
  t.match(failed, { status: 500, body: { code: "internal" } });
  t.notMatch(failed.text, /secret detail/);
  t.match(await host.request("POST", "/plugin/plug/items", { headers, body: "{" }), {
    status: 400,
    body: { code: "bad_json" },
  });
});

t.test("a sandboxed plugin's routes are not served", async (t) => {
  const source = `export default { routes: [{ method: "GET", path: "/items", handler: () => 1 }] };`;
  const host = await startHost(t, { plugins: { plug: sandboxed("plug", source) } });
  t.match(await host.request("GET", "/plugin/plug/items"), { status: 404 });
  t.ok(host.logs.some(({ msg, plugin }) => plugin === "plug" && msg.includes("only trusted plugins have routes")));
});

const GUARDED = `export default { routes: [
  { method: "GET", path: "/open", handler: () => "open" },
  { method: "GET", path: "/token", permissions: [], handler: (request) => request.claims.sub },
  { method: "GET", path: "/items", permissions: ["items:read"], handler: () => "items" },
  { method: "POST", path: "/items", permissions: ["items:read", "items:write"], handler: () => { globalThis.handled = true; return "written"; } },
] };`;

async function tokens(host: Host, key: Parameters<SignJWT["sign"]>[0], alg: string) {
  const token = (
    claims: Record<string, unknown> = {},
    change: (jwt: SignJWT) => SignJWT = (jwt) => jwt,
    kid?: string,
  ) =>
    change(
      new SignJWT({ sub: "me", ...claims })
        .setProtectedHeader({ alg, ...(kid !== undefined && { kid }) })
        .setIssuer("https://issuer")
        .setAudience("runtime")
        .setExpirationTime("5m"),
    ).sign(key);
  const ask = async (method: string, path: string, jwt?: string) =>
    host.request(
      method,
      `/plugin/plug${path}`,
      jwt === undefined ? {} : { headers: { authorization: `Bearer ${jwt}` } },
    );
  return { token, ask };
}

t.test("a route's permissions are checked against the bearer token before its handler runs", async (t) => {
  const secret = "0123456789abcdef0123456789abcdef";
  const host = await startHost(t, {
    plugins: { plug: trusted("plug", GUARDED) },
    files: { "jwt.secret": `${secret}\n` },
    configuration: {
      auth: {
        jwt: { algorithms: ["HS256"], issuer: "https://issuer", audience: "runtime", secret_file: "jwt.secret" },
      },
    },
  });
  const key = new TextEncoder().encode(secret);
  const { token, ask } = await tokens(host, key, "HS256");
  t.equal((await ask("GET", "/open")).text, "open");
  t.match(await ask("GET", "/items"), { status: 401, body: { code: "token_missing" } });
  const bad: Record<string, string> = {
    garbage: "abc.def.ghi",
    "another key": await new SignJWT({})
      .setProtectedHeader({ alg: "HS256" })
      .setIssuer("https://issuer")
      .setAudience("runtime")
      .setExpirationTime("5m")
      .sign(new TextEncoder().encode("another key of thirty-two letters")),
    expired: await token({}, (jwt) => jwt.setExpirationTime("-1m")),
    "no expiry": await new SignJWT({ iss: "https://issuer", aud: "runtime", permissions: ["items:read"] })
      .setProtectedHeader({ alg: "HS256" })
      .sign(key),
    issuer: await token({}, (jwt) => jwt.setIssuer("https://other")),
    audience: await token({}, (jwt) => jwt.setAudience("other")),
    "not yet": await token({}, (jwt) => jwt.setNotBefore("5m")),
    algorithm: await tokens(host, new TextEncoder().encode(secret.repeat(2)), "HS512").then((other) =>
      other.token({ permissions: ["items:read"] }),
    ),
    none: `${Buffer.from('{"alg":"none"}').toString("base64url")}.${Buffer.from(JSON.stringify({ iss: "https://issuer", aud: "runtime", exp: 9e9, permissions: ["items:read"] })).toString("base64url")}.`,
  };
  for (const [name, jwt] of Object.entries(bad)) {
    t.match(await ask("GET", "/items", jwt), { status: 401, body: { code: "token_invalid" } }, name);
  }
  t.match(await ask("GET", "/items", await token()), { status: 403, body: { code: "forbidden", msg: /items:read/ } });
  t.equal((await ask("GET", "/token", await token())).text, "me");
  t.equal((await ask("GET", "/token")).status, 401, "no permissions named still asks for a token");
  for (const claims of [{ permissions: ["items:read"] }, { roles: ["items:read"] }, { scope: "other items:read" }]) {
    t.equal((await ask("GET", "/items", await token(claims))).status, 200, JSON.stringify(claims));
  }
  t.match(await ask("POST", "/items", await token({ permissions: ["items:read"] })), { status: 403 });
  t.notOk("handled" in globalThis, "the handler has not run");
  t.equal(
    (await ask("POST", "/items", await token({ permissions: ["items:write"], scope: "items:read" }))).text,
    "written",
  );
  delete (globalThis as { handled?: boolean }).handled;
});

t.test("tokens verify with a public key file, and never with that file as a shared secret", async (t) => {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const pem = String(publicKey.export({ type: "spki", format: "pem" }));
  const host = await startHost(t, {
    plugins: { plug: trusted("plug", GUARDED) },
    files: { "jwt.pem": pem },
    configuration: {
      auth: {
        jwt: { algorithms: ["ES256"], issuer: "https://issuer", audience: "runtime", public_key_file: "jwt.pem" },
      },
    },
  });
  const { token, ask } = await tokens(host, privateKey, "ES256");
  t.equal((await ask("GET", "/items", await token({ permissions: ["items:read"] }))).status, 200);
  const confused = await tokens(host, new TextEncoder().encode(pem), "HS256");
  t.match(await ask("GET", "/items", await confused.token({ permissions: ["items:read"] })), { status: 401 });
});

t.test("tokens verify with a JWKS, and are refused while it cannot be fetched", async (t) => {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const jwk = { ...(await exportJWK(publicKey)), kid: "k1", alg: "EdDSA", use: "sig" };
  let up = true;
  const server = createHttpServer((_request, response) => {
    response.writeHead(up ? 200 : 503, { "content-type": "application/json" });
    response.end(JSON.stringify({ keys: [jwk] }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks`;
  const configuration = {
    auth: { jwt: { algorithms: ["EdDSA"], issuer: "https://issuer", audience: "runtime", jwks_url: url } },
  };
  const host = await startHost(t, { plugins: { plug: trusted("plug", GUARDED) }, configuration });
  const { token, ask } = await tokens(host, privateKey, "EdDSA");
  up = false;
  t.match(await ask("GET", "/items", await token({ permissions: ["items:read"] }, undefined, "k1")), { status: 401 });
  up = true;
  t.equal((await ask("GET", "/items", await token({ permissions: ["items:read"] }, undefined, "k1"))).status, 200);
});

t.test("a route with permissions is closed while no auth.jwt is configured", async (t) => {
  const host = await startHost(t, { plugins: { plug: trusted("plug", GUARDED) } });
  t.match(await host.request("GET", "/plugin/plug/items"), { status: 401, body: { code: "auth_not_configured" } });
  t.equal((await host.request("GET", "/plugin/plug/open")).status, 200);
});

t.test(
  "an action of a trusted plugin that takes too long is answered with 500 and told through its signal",
  async (t) => {
    const source = actions(`
    slow: (_p, { signal }) => new Promise((resolve) => { signal.addEventListener("abort", () => { globalThis.aborted = signal.reason.code; }); }),
    fast: () => 1`);
    const host = await startHost(t, {
      plugins: { plug: trusted("plug", source, { resources: { timeout_seconds: 0.2 } }) },
    });
    t.match(await host.call("plug", "slow"), { status: 500, body: { code: "timed_out" } });
    t.equal((globalThis as { aborted?: string }).aborted, "timed_out");
    t.equal(await host.result("plug", "fast"), 1);
  },
);

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
  await until(async () => (await host.counter("sealift_event_loop_blocked_total")) === 1);
  const { body } = await host.system("GET", "/plugin/ipc/health");
  t.match(body, { status: "degraded", checks: { event_loop: { status: "degraded", message: /guilty/ } } });
  t.ok(host.logs.some(({ plugin, msg }) => plugin === "guilty" && msg === "the event loop was blocked"));
  t.equal((await host.call("innocent", "echo")).status, 200);
});

t.test("a plugin that throws while it loads hurts neither the boot nor the others", async (t) => {
  const host = await startHost(t, {
    plugins: {
      throws: trusted("throws", "throw new Error('at the top')"),
      rejects: trusted("rejects", "await Promise.reject(new Error('later'))"),
      onLoad: trusted("onLoad", "export default { actions: {}, onLoad: async () => { throw new Error('in onLoad') } }"),
      missing: trusted("missing", "import 'not-there'; export default { actions: {} }"),
      router: trusted(
        "router",
        "export default { router: async (app) => { app.get('/a', () => 1); app.get('/a', () => 2); } }",
      ),
      good: trusted("good", ECHO),
    },
  });
  for (const name of ["throws", "rejects", "onLoad", "missing", "router"]) {
    t.match(await host.status(name), { state: "error", error_code: "load_failed" }, name);
  }
  t.equal((await host.call("good", "echo")).status, 200);
});
