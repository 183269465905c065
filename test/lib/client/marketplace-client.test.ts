// Only in test:all: it waits for each limit of a request, half a minute.
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import t, { type Test } from "tap";
import type { InstallHeaders } from "../../../lib/client/install-headers.ts";
import { MarketplaceClient } from "../../../lib/client/marketplace-client.ts";
import type { MarketplaceKind } from "../../../lib/contract/surfaces/paths.ts";
import { marketplaceHost, SLUG } from "../../support/host/marketplace-host.ts";
import {
  honestInstall,
  MARKETPLACE_KEY,
  type MarketplaceHub,
  signatureOf,
  startMarketplaceHub,
} from "../../support/hub/marketplace-hub.ts";
import { type Answer, hangUp, html, json, redirect, stallInBody } from "../../support/hub/scripted-server.ts";
import { errorOf } from "../../support/hub/surface-b.ts";

const RELEASE = { version: "1.0.0", bytes: Buffer.alloc(200_000, 7) };
const OPERATIONS = ["detail", "install", "report"] as const;
type Name = (typeof OPERATIONS)[number];

const startHub = (t: Test): Promise<MarketplaceHub> => startMarketplaceHub(t, RELEASE);

function clientOf(hub: { url: string }, kind: MarketplaceKind = "plugin", timeoutMs = 10_000, signal?: AbortSignal) {
  const options = { hubUrl: hub.url, apiKey: MARKETPLACE_KEY, timeoutMs, ...(signal && { signal }) };
  return new MarketplaceClient(kind, SLUG, options);
}

const install = (client: MarketplaceClient, version = "1.0.0") =>
  client.install(version, async (headers, body) => ({ headers, bytes: await buffer(body) }));

const REPORT = {
  kind: "plugin",
  slug: SLUG,
  version: "1.0.0",
  status: "success",
  started_at: "2026-01-01T00:00:00Z",
  completed_at: "2026-01-01T00:00:01Z",
  host_id: "host-1",
  repo: null,
  error_message: null,
} as const;

const calls = (client: MarketplaceClient): Record<Name, () => Promise<unknown>> => ({
  detail: () => client.detail(),
  install: () => install(client),
  report: () => client.report(REPORT),
});

/** Status → code and exit code (docs/errors.md). */
const EXPECTED: Record<number, [code: string, exit: number]> = {
  400: ["hub_refused", 1],
  401: ["key_rejected", 3],
  403: ["forbidden", 3],
  404: ["not_found", 1],
  408: ["hub_unavailable", 75],
  409: ["conflict", 1],
  413: ["too_large", 5],
  422: ["hub_refused", 1],
  429: ["rate_limited", 75],
  500: ["hub_unavailable", 75],
  503: ["hub_unavailable", 75],
};
const RETRIED = new Set([404, 408, 429, 500, 503]);

t.test(
  "every status is an ArtifactError with a code, the status and the hub's text, tried as often as it may be",
  async (t) => {
    const cases = OPERATIONS.flatMap((name) =>
      Object.keys(EXPECTED).map((status) => ({ name, status: Number(status) })),
    );
    // Those that are tried again wait: all at once, each with a hub of its own.
    await Promise.all(
      cases.map(async ({ name, status }) => {
        const hub = await startHub(t);
        const said = `the hub says no to ${name}`;
        hub.answer(name, json(status, { error: said, detail: "something else", code: "hub_code" }));
        const error = await errorOf(calls(clientOf(hub))[name]());
        const [code, exit] = EXPECTED[status]!;
        const what = `${name} ${status}`;
        t.equal(error.kind, "ArtifactError", `${what}: kind`);
        t.equal(error.code, code, `${what}: code`);
        t.equal(error.exitCode, exit, `${what}: exit code`);
        t.equal(error.status, status, `${what}: status`);
        t.equal(error.hubCode, "hub_code", `${what}: the hub's code`);
        t.ok(error.message.includes(String(status)) && error.message.includes(said), `${what}: ${error.message}`);
        t.equal(/API key was rejected/.test(error.message), status === 401, `${what}: the rejected key is named`);
        const tries = name !== "report" && RETRIED.has(status) ? 4 : 1;
        t.equal(hub.requests.length, tries, `${what}: ${tries} requests`);
      }),
    );
  },
);

t.test("what is 2xx but not 200 is not an artifact", async (t) => {
  const hub = await startHub(t);
  for (const status of [201, 202, 204, 206, 304]) {
    hub.answer("install", (response) =>
      response.writeHead(status, { "x-signature": signatureOf(Buffer.alloc(0)) }).end(),
    );
    t.match(await errorOf(install(clientOf(hub))), { kind: "ArtifactError", status }, `${status}`);
  }
});

t.test(
  "an error body without text, or that is not JSON, still gives the status; the key does not come back",
  async (t) => {
    const hub = await startHub(t);
    for (const body of ["", "<html>no</html>", "[]", "null", '{"error": 1}', "{"]) {
      hub.answer("detail", (response) => response.writeHead(403).end(body));
      t.match(await errorOf(clientOf(hub).detail()), { code: "forbidden", message: /403/ }, body);
    }
    hub.answer("detail", json(403, { detail: "only a detail" }));
    t.match((await errorOf(clientOf(hub).detail())).message, "only a detail");
    hub.answer("detail", json(403, { error: `unknown key ${MARKETPLACE_KEY}\u001b[2J` }));
    const { message } = await errorOf(clientOf(hub).detail());
    t.notOk(message.includes(MARKETPLACE_KEY) || message.includes("\u001b"), message);
  },
);

t.test(
  "a connection that is lost, or silent, is tried three times more for GETs and never for the report",
  async (t) => {
    await Promise.all(
      OPERATIONS.map(async (name) => {
        const hub = await startHub(t);
        hub.answer(name, hangUp);
        const error = await errorOf(calls(clientOf(hub))[name]());
        t.match(error, { kind: "ArtifactError", code: "connection_failed", exitCode: 75 }, name);
        t.equal(hub.requests.length, name === "report" ? 1 : 4, name);
      }),
    );
    await Promise.all([
      (async () => {
        const hub = await startHub(t);
        hub.answer("install", stallInBody("PK"));
        const failed = await errorOf(install(clientOf(hub, "plugin", 200)));
        t.match(failed, { kind: "ArtifactError", code: "signature_missing" }, "headers first");
        hub.answer("install", (response) => {
          response.writeHead(200, { "x-signature": signatureOf(Buffer.from("PK")), "content-length": 1000 });
          response.write("PK");
        });
        t.match(await errorOf(install(clientOf(hub, "plugin", 200))), { code: "timed_out", exitCode: 75 });
        t.equal(hub.to("install").length, 7, "what has begun goes on as downloads do: five tries without a byte");
      })(),
      (async () => {
        const error = await errorOf(clientOf({ url: "http://127.0.0.1:1" }).detail());
        t.match(error, { kind: "ArtifactError", code: "connection_failed" }, "nobody listens");
      })(),
    ]);
  },
);

t.test("what fails once or three times succeeds in the end", async (t) => {
  const failures: Answer[] = [json(404, {}), hangUp, json(503, {})];
  const cut: Answer = (response, _request, count) => {
    response.writeHead(200, { "x-signature": signatureOf(RELEASE.bytes), "content-length": RELEASE.bytes.length });
    response.write(RELEASE.bytes.subarray(0, 1000 * (count + 1)), () => response.destroy());
  };
  await Promise.all([
    (async () => {
      const hub = await startHub(t);
      hub.answer("detail", ...failures, json(200, { latest_version: "1.0.0" }));
      t.match(await clientOf(hub).detail(), { latest_version: "1.0.0" });
      t.equal(hub.requests.length, 4);
    })(),
    (async () => {
      const hub = await startHub(t);
      hub.answer("install", cut, cut, honestInstall(RELEASE));
      t.same(
        (await install(clientOf(hub))).bytes,
        RELEASE.bytes,
        "a server that ignores Range is read again from its start",
      );
      t.equal(hub.requests.length, 3);
    })(),
  ]);
});

t.test("Retry-After is honoured, and a wait ends with the run", async (t) => {
  await Promise.all([
    (async () => {
      const hub = await startHub(t);
      const times: number[] = [];
      hub.answer(
        "detail",
        (response, request, count) => {
          times.push(performance.now());
          json(429, {}, { "retry-after": "3" })(response, request, count);
        },
        (response, request, count) => {
          times.push(performance.now());
          json(200, { latest_version: "1.0.0" })(response, request, count);
        },
      );
      await clientOf(hub).detail();
      t.ok(times[1]! - times[0]! >= 2990, `${times[1]! - times[0]!} ms`);
    })(),
    (async () => {
      const hub = await startHub(t);
      const controller = new AbortController();
      hub.answer("install", json(503, {}, { "retry-after": "60" }));
      const running = install(clientOf(hub, "plugin", 10_000, controller.signal)).catch((error: unknown) => error);
      await sleep(500);
      const started = performance.now();
      controller.abort(new Error("stopped"));
      t.match(await running, { name: "AbortError" });
      t.ok(performance.now() - started < 2000, "at once");
      t.equal(hub.requests.length, 1);
    })(),
  ]);
});

t.test("the requests are the contract's, for plugins and for services", async (t) => {
  for (const [kind, mount, header] of [
    ["plugin", "/app/marketplace/plugins", "x-plugin"],
    ["service", "/app/services/services", "x-service"],
  ] as const) {
    const hub = await startHub(t);
    const client = clientOf({ url: `${hub.url}//` }, kind);
    await client.detail();
    const { headers, bytes } = await install(client, "1.0.0 beta/ü");
    await client.report({ ...REPORT, kind });
    t.strictSame(
      hub.requests.map(({ method, path }) => `${method} ${path}`),
      [
        `GET ${mount}/${SLUG}`,
        `GET ${mount}/${SLUG}/install?version=1.0.0%20beta%2F%C3%BC`,
        "POST /app/deployments/deployments/report",
      ],
    );
    for (const request of hub.requests) t.equal(request.headers["x-api-key"], MARKETPLACE_KEY, request.path);
    t.same(JSON.parse(hub.to("report")[0]!.body.toString()), { ...REPORT, kind });
    t.same(bytes, RELEASE.bytes);
    const expected: InstallHeaders = {
      hmac: signatureOf(RELEASE.bytes).slice(12),
      author: { signature: undefined, signer: undefined },
      named: `${SLUG}@1.0.0`,
      repo: `acme/${SLUG}@v1.0.0`,
      size: RELEASE.bytes.length,
    };
    t.same(headers, expected, header);
  }
});

t.test("an artifact without X-Signature, or with one of another form, is refused at once", async (t) => {
  const hub = await startHub(t);
  for (const [value, code] of [
    [null, "signature_missing"],
    ["", "signature_missing"],
    ["hmac_sha256:", "signature_invalid"],
    [`hmac_sha256:${"A".repeat(64)}`, "signature_invalid"],
    [`hmac-sha256:${"a".repeat(64)}`, "signature_invalid"],
    [`hmac_sha256:${"a".repeat(63)}`, "signature_invalid"],
  ] as const) {
    hub.repent();
    hub.release = { ...RELEASE, headers: { "x-signature": value } };
    let consumed = false;
    const error = await errorOf(clientOf(hub).install("1.0.0", async () => void (consumed = true)));
    t.match(error, { kind: "ArtifactError", code, exitCode: 4 }, String(value));
    t.equal(consumed, false, "its bytes are not read");
    t.equal(hub.requests.length, 1);
  }
});

t.test("a web page in place of an artifact says nothing of the artifact", async (t) => {
  const hub = await startHub(t);
  hub.answer("install", html);
  for (const ask of [
    () => clientOf(hub).install("1.0.0", () => Promise.resolve()),
    () => clientOf(hub).installHeaders("1.0.0"),
  ]) {
    const expected = { kind: "ArtifactError", code: "bad_answer", exitCode: 1, message: /web page/ };
    t.match(await errorOf(ask()), expected);
  }
});

t.test("a detail that is not a record is bad_answer; what other hubs add or leave out does not matter", async (t) => {
  const hub = await startHub(t);
  for (const answer of [html, json(200, []), json(200, "1.0.0"), json(200, { latest_version: 1 }), json(200, null)]) {
    hub.answer("detail", answer);
    t.match(await errorOf(clientOf(hub).detail()), { kind: "ArtifactError", code: "bad_answer", status: 200 });
  }
  const records = [
    { latest_version: "1.0.0" },
    { latest_version: "1.0.0", name: null, versions: null, description: null },
    { latest_version: "1.0.0", versions: ["1.0.0", "0.9.0"] },
    { latest_version: "1.0.0", versions: [{ version: "1.0.0", sha256: null, is_yanked: null }] },
    { latest_version: "1.0.0", versions: {}, name: 7, more: [{}] },
  ];
  for (const record of records) {
    hub.answer("detail", json(200, record));
    t.match(await clientOf(hub).detail(), { latest_version: "1.0.0" }, JSON.stringify(record));
  }
});

t.test("without a latest version the deployment says that none is published yet", async (t) => {
  const host = await marketplaceHost(t);
  for (const record of [{}, { latest_version: "" }, { latest_version: null }, { name: "The Tide Table" }]) {
    host.hub.repent();
    host.hub.answer("detail", json(200, record));
    const result = await host.deploy("latest");
    t.match(result, { outcome: "failed", error: { kind: "ArtifactError", code: "no_version", exitCode: 1 } });
    t.match(result.error!.message, /is published yet/);
    t.strictSame(
      host.hub.requests.map(({ route }) => route),
      ["detail", "report"],
    );
  }
});

t.test("a report that the hub refuses, or never answers, changes nothing about the deployment", async (t) => {
  const answers: Answer[] = [401, 403, 404, 422, 429, 500].map((status) => json(status, { error: "no" }));
  for (const answer of [...answers, hangUp, html]) {
    const host = await marketplaceHost(t);
    host.offer(host.hub.release.bytes);
    host.hub.answer("report", answer);
    t.match(await host.deploy(), { outcome: "deployed", status: "success" });
    t.equal(host.hub.to("report").length, 1);
    if (answer === html) continue;
    const warned = host.events.filter((event) => event.event === "warning");
    t.match(warned, [{ message: /report could not be sent/ }]);
  }
});

t.test("redirects are followed on every route, and the key stays on its origin", async (t) => {
  for (const name of OPERATIONS) {
    for (const status of [301, 302, 303, 307, 308]) {
      const [first, second] = [await startHub(t), await startHub(t)];
      first.answer(
        name,
        redirect(status, ({ path }) => second.url + path),
      );
      const answer = await calls(clientOf(first))[name]();
      if (name === "install") t.same((answer as { bytes: Buffer }).bytes, RELEASE.bytes, `${name} ${status}`);
      t.equal(first.requests[0]!.headers["x-api-key"], MARKETPLACE_KEY);
      const [arrived] = second.requests;
      t.ok(arrived, `${name} ${status} arrives`);
      t.equal(arrived?.headers["x-api-key"], undefined, `${name} ${status} without the key`);
      if (name === "report" && status !== 303) t.same(JSON.parse(arrived!.body.toString()), REPORT);

      const same = await startHub(t);
      same.answer(
        name,
        redirect(status, ({ path }) => `${path}${path.includes("?") ? "&" : "?"}again=1`),
        (...all) =>
          name === "install" ? honestInstall(RELEASE)(...all) : json(200, { latest_version: "1.0.0" })(...all),
      );
      await calls(clientOf(same))[name]();
      const again = same.requests.at(-1)!;
      t.ok(again.path.includes("again=1"));
      t.equal(again.headers["x-api-key"], MARKETPLACE_KEY, `${name} ${status}: its own origin still gets the key`);
    }
    const hub = await startHub(t);
    hub.answer(
      name,
      redirect(302, (_request, count) => `/elsewhere/${count}`),
    );
    hub.answer(
      "other",
      redirect(302, (_request, count) => `/elsewhere/${count + 1}`),
    );
    t.match(await errorOf(calls(clientOf(hub))[name]()), { kind: "ArtifactError", code: "redirect_loop" });
    t.equal(hub.requests.length, 11, "ten redirects at the most");
    hub.answer(name, redirect(302, "file:///etc/passwd"));
    t.match(await errorOf(calls(clientOf(hub))[name]()), { kind: "ArtifactError", code: "redirect_invalid" });
  }
});

t.test("a first publication hears how its plugin or service is created", async (t) => {
  const server = createServer((request, response) => {
    request.resume().on("end", () => response.writeHead(404, { "content-type": "application/json" }).end("{}"));
  }).listen(0, "127.0.0.1");
  t.teardown(() => server.close());
  await once(server, "listening");
  const client = clientOf({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }, "service");
  const hint = new RegExp(`project create .*--kind service --slug ${SLUG}`);
  const fields = { version: "1.0.0", signature: "00" };
  await t.rejects(client.publish(fields, import.meta.filename), { code: "publish_refused", hint });
});

t.test("a publication as a plugin of what is a service hears that", async (t) => {
  const server = createServer((request, response) => {
    const isService = request.url?.startsWith("/app/services/") === true;
    const body = isService ? { latest_version: null } : { error: "There is no such plugin." };
    const answer = () => response.writeHead(isService ? 200 : 404, { "content-type": "application/json" });
    request.resume().on("end", () => answer().end(JSON.stringify(body)));
  }).listen(0, "127.0.0.1");
  t.teardown(() => server.close());
  await once(server, "listening");
  const client = clientOf({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }, "plugin");
  const hint = `${SLUG} is a service there: give --kind service.`;
  const fields = { version: "1.0.0", signature: "00" };
  await t.rejects(client.publish(fields, import.meta.filename), { code: "publish_refused", hint });
});
