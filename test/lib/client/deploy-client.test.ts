import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import t from "tap";
import { DeployClient } from "../../../lib/client/deploy-client.ts";
import type { ErrorKind } from "../../../lib/contract/errors.ts";
import { forgedArtifact, forgedSigner } from "../../support/forged/artifact.ts";
import { type Route, startLyingHub } from "../../support/hub/lying-hub.ts";
import { hangUp, html, json } from "../../support/hub/scripted-server.ts";
import {
  API_KEY,
  callers,
  CREDENTIAL,
  errorOf,
  type OperationName,
  PROJECT,
  readAll,
} from "../../support/hub/surface-b.ts";

const artifact = forgedArtifact(Buffer.alloc(300_000, 5), forgedSigner());
const OPERATIONS: OperationName[] = ["auth", "latest", "location", "authorize", "report", "publish", "download"];

/** docs/contract/README.md#errors. */
function kindOf(operation: OperationName, status: number): ErrorKind {
  const rejected = status === 401 || status === 403;
  switch (operation) {
    case "auth":
      return rejected ? "AuthenticationError" : "DeploymentError";
    case "latest":
    case "location":
    case "download":
      return "ArtifactError";
    case "authorize":
      return rejected ? "AuthenticationError" : "ArtifactError";
    case "report":
      return "DeploymentError";
    case "publish":
      return rejected ? "AuthenticationError" : "PublishError";
  }
}

/** Status → code and exit code; publishing has its own for some (docs/errors.md). */
const EXPECTED: Record<number, { code: string; exit: number; publish?: { code: string; exit: number } }> = {
  400: { code: "hub_refused", exit: 1, publish: { code: "publish_refused", exit: 5 } },
  401: { code: "key_rejected", exit: 3 },
  403: { code: "forbidden", exit: 3 },
  404: { code: "not_found", exit: 1, publish: { code: "publish_refused", exit: 5 } },
  409: { code: "conflict", exit: 1, publish: { code: "version_exists", exit: 5 } },
  413: { code: "too_large", exit: 5 },
  422: { code: "hub_refused", exit: 1, publish: { code: "publish_refused", exit: 5 } },
  429: { code: "rate_limited", exit: 75 },
  500: { code: "hub_unavailable", exit: 75 },
};

t.test(
  "every status on every operation has the contract's kind, a code, its exit code, the status and the hub's text",
  async (t) => {
    const statuses = Object.keys(EXPECTED).map(Number);
    const cases = OPERATIONS.flatMap((operation) => statuses.map((status) => ({ operation, status }))).filter(
      // What a download tries again and again is in download.test.ts.
      ({ operation, status }) => operation !== "download" || (status !== 429 && status !== 500),
    );
    // Some are tried again, with delays: all at once, each with a hub of its own.
    await Promise.all(
      cases.map(async ({ operation, status }) => {
        const hub = await startLyingHub(t, { artifact });
        const said = `the hub says no to ${operation} with ..dots.. and \u00e9`;
        hub.answer(operation, json(status, { error: said, detail: "something else", code: "hub_code" }));
        const error = await errorOf(callers(t, { hubUrl: hub.url, artifact })[operation]());
        const expected = (operation === "publish" && EXPECTED[status]!.publish) || EXPECTED[status]!;
        const what = `${operation} ${status}`;
        t.equal(error.kind, kindOf(operation, status), `${what}: kind`);
        t.equal(error.code, expected.code, `${what}: code`);
        t.equal(error.exitCode, expected.exit, `${what}: exit code`);
        t.equal(error.status, status, `${what}: status`);
        t.ok(error.message.includes(String(status)), `${what}: the message has the status`);
        t.ok(error.message.includes(said), `${what}: the message has the hub's error: ${error.message}`);
        t.equal(error.hubCode, "hub_code");
      }),
    );
  },
);

t.test("a code of the hub that says more than its status is kept, with advice of its own", async (t) => {
  const hub = await startLyingHub(t, { artifact });
  for (const [status, code] of [
    [413, "quota_exceeded"],
    [403, "signer_refused"],
  ] as const) {
    hub.answer("publish", json(status, { error: "no", detail: "no", code }));
    const error = await errorOf(callers(t, { hubUrl: hub.url, artifact }).publish());
    t.match(error, { kind: kindOf("publish", status), code, exitCode: 5, status });
    t.notMatch(error.hint ?? "", /max-artifact-size/);
  }
});

t.test(
  "an error body that is not JSON, has only a detail, or is missing still gives an error with the status",
  async (t) => {
    const bodies: [string, string][] = [
      ["", "404"],
      ["<html>not found</html>", "404"],
      ['{"detail": "only a detail"}', "404: only a detail"],
      ['{"error": {"nested": true}}', "404"],
      ['{"error": ""}', "404"],
      ["[1, 2]", "404"],
      ["null", "404"],
    ];
    const hub = await startLyingHub(t, { artifact });
    for (const [body, shown] of bodies) {
      hub.answer("authorize", (response) => {
        response.writeHead(404, { "content-type": "application/json" });
        response.end(body);
      });
      const error = await errorOf(callers(t, { hubUrl: hub.url, artifact }).authorize());
      t.match(error, { kind: "ArtifactError", code: "not_found", status: 404 });
      t.ok(error.message.includes(shown), `${body}: ${error.message}`);
    }
  },
);

t.test("200 with HTML, or with JSON of another shape, is bad_answer of the operation's kind", async (t) => {
  const hub = await startLyingHub(t, { artifact });
  const answers = [html, json(200, {}), json(200, []), json(200, { access_token: 1, version: null, dek: "short" })];
  for (const operation of OPERATIONS.filter((name) => name !== "download")) {
    for (const answer of answers) {
      hub.repent();
      hub.answer(operation, answer);
      const error = await errorOf(callers(t, { hubUrl: hub.url, artifact })[operation]());
      t.match(error, { kind: kindOf(operation, 200), code: "bad_answer", status: 200, exitCode: 1 }, operation);
    }
  }
  hub.repent();
  hub.answer("latest", (response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(`{"version": "${"9".repeat(5_000_000)}"}`);
  });
  t.match(
    await errorOf(callers(t, { hubUrl: hub.url, artifact }).latest()),
    { code: "bad_answer" },
    "an endless answer",
  );
});

t.test("a location that is not one is refused before anything is fetched", async (t) => {
  const hub = await startLyingHub(t, { artifact });
  const good = {
    download_url: `${hub.url}/download`,
    signature: artifact.signature.toString("base64"),
    signer_public_key: artifact.publicKey.toString("base64"),
  };
  const bad = [
    { download_url: "file:///etc/passwd" },
    { download_url: "/relative" },
    { download_url: "javascript:alert(1)" },
    { signature: "" },
    { signature: Buffer.alloc(63).toString("base64") },
    { signer_public_key: "not base64!" },
    { signer_public_key: undefined },
  ];
  for (const change of bad) {
    hub.answer("location", json(200, { ...good, ...change }));
    t.match(await errorOf(callers(t, { hubUrl: hub.url, artifact }).location()), { code: "bad_answer" });
  }
  t.equal(hub.to("download").length, 0);
});

t.test("a session that is refused with 401 in the middle is renewed once", async (t) => {
  const hub = await startLyingHub(t, { artifact });
  hub.answer("auth", json(200, { access_token: "first" }), json(200, { access_token: "second" }));
  hub.answer("location", (response, request, count) => {
    if (request.headers.authorization === "Bearer second") json(200, locationOf(hub.url))(response, request, count);
    else json(401, { error: "expired" })(response, request, count);
  });
  const client = new DeployClient(PROJECT, { hubUrl: hub.url, apiKey: API_KEY, timeoutMs: 5000 });
  await client.authenticate();
  t.match(await client.locate("1.0.0"), { download_url: `${hub.url}/download` });
  t.equal(hub.to("auth").length, 2);

  hub.answer("location", json(401, { error: "never" }));
  const before = hub.to("location").length;
  t.match(await errorOf(client.locate("1.0.0")), { kind: "ArtifactError", code: "key_rejected" });
  t.equal(hub.to("location").length - before, 2, "and only once");
});

const locationOf = (url: string) => ({
  download_url: `${url}/download`,
  signature: artifact.signature.toString("base64"),
  signer_public_key: artifact.publicKey.toString("base64"),
});

t.test("one session serves every operation, also several at once", async (t) => {
  const hub = await startLyingHub(t, { artifact });
  const client = new DeployClient(PROJECT, { hubUrl: `${hub.url}///`, apiKey: API_KEY, timeoutMs: 5000 });
  await Promise.all([client.latestVersion(), client.locate("1.0.0"), client.authorize(CREDENTIAL, "x")]);
  t.equal(hub.to("auth").length, 1);
  t.strictSame(JSON.parse(hub.to("auth")[0]!.body.toString()), { xdevkey: API_KEY, project_id: PROJECT });
  t.strictSame(hub.to("auth")[0]!.path, "/app/deploy/v1/auth", "slashes behind the hub's URL are ignored");
  t.equal(hub.to("latest")[0]!.headers.authorization, "Bearer session-token");
  t.equal(hub.to("latest")[0]!.headers["x-api-key"], undefined);
});

t.test("a publication sends the fields first, then the file, with the key in its header and no session", async (t) => {
  const hub = await startLyingHub(t, { artifact });
  const record = await callers(t, { hubUrl: hub.url, artifact }).publish();
  t.match(record, { artifact_id: "art_1" });
  const [request] = hub.to("publish");
  t.equal(request!.headers["x-api-key"], API_KEY);
  t.equal(request!.headers.authorization, undefined);
  t.match(request!.headers["content-type"], /^multipart\/form-data/);
  const form = await new Response(new Uint8Array(request!.body), {
    headers: { "content-type": request!.headers["content-type"]! },
  }).formData();
  t.strictSame(
    [...form.keys()],
    ["version", "project_name", "content_sha256", "dek", "signature", "signer_public_key", "artifact"],
  );
  const part = form.get("artifact") as File;
  t.equal(part.name, "artifact.xdeploy");
  t.equal(part.type, "application/octet-stream");
  t.ok(Buffer.from(await part.arrayBuffer()).equals(artifact.file));
  t.equal(hub.to("auth").length, 0);
});

t.test(
  "GETs and authorize are tried again after 429, 5xx and lost connections; other POSTs and 4xx are not",
  async (t) => {
    const twice = [json(503, {}), hangUp];
    await Promise.all(
      (["latest", "location", "authorize"] as const).map(async (operation) => {
        const hub = await startLyingHub(t, { artifact });
        const dek = Buffer.from(artifact.dek).toString("base64");
        const truth = { latest: { version: "1.0.0" }, location: locationOf(hub.url), authorize: { dek } };
        hub.answer(operation, ...twice, json(200, truth[operation]));
        await callers(t, { hubUrl: hub.url, artifact })[operation]();
        t.equal(hub.to(operation).length, 3, operation);
      }),
    );
    for (const operation of ["auth", "report", "publish"] as const) {
      for (const answer of [json(503, {}), hangUp]) {
        const hub = await startLyingHub(t, { artifact });
        hub.answer(operation, answer);
        const error = await errorOf(callers(t, { hubUrl: hub.url, artifact })[operation]());
        t.equal(error.exitCode, 75);
        t.equal(error.kind, kindOf(operation, 500));
        t.equal(hub.to(operation).length, 1, operation);
      }
    }
    const hub = await startLyingHub(t, { artifact });
    for (const status of [400, 403, 404]) {
      hub.answer("latest", json(status, {}));
      await errorOf(callers(t, { hubUrl: hub.url, artifact }).latest());
    }
    t.equal(hub.to("latest").length, 3);
  },
);

t.test("Retry-After is honoured, as seconds and as a date", async (t) => {
  await Promise.all(
    [() => "2", () => new Date(Date.now() + 3000).toUTCString()].map(async (header) => {
      const hub = await startLyingHub(t, { artifact });
      hub.answer("latest", json(429, {}, { "retry-after": header() }), json(200, { version: "1.0.0" }));
      const waits: [code: string, waitMs: number][] = [];
      const started = Date.now();
      await callers(t, {
        hubUrl: hub.url,
        artifact,
        onWait: ({ code }, waitMs) => waits.push([code, waitMs]),
      }).latest();
      const waited = Date.now() - started;
      t.ok(waited >= 1900, `waited ${waited} ms`);
      t.match(waits, [["rate_limited", Number]]);
      t.ok(waits.length === 1 && waits[0]![1] > 0 && waits[0]![1] <= waited, "it says so, and for how long");
    }),
  );
  const hub = await startLyingHub(t, { artifact });
  hub.answer("publish", json(429, { error: "slow down" }, { "retry-after": "17" }));
  const error = await errorOf(callers(t, { hubUrl: hub.url, artifact }).publish());
  t.match(error, { code: "rate_limited", hint: /17/ }, "a person is told");
});

t.test("an abort ends a waiting call at once", async (t) => {
  const hub = await startLyingHub(t, { artifact });
  hub.answer("latest", () => {});
  const controller = new AbortController();
  const call = callers(t, { hubUrl: hub.url, artifact, signal: controller.signal }).latest();
  setTimeout(() => controller.abort(), 100);
  const started = Date.now();
  await t.rejects(call, { name: "AbortError" });
  t.ok(Date.now() - started < 3000);
});

t.test("the hub's text is shown as one printable line without the secrets that we sent", async (t) => {
  const hub = await startLyingHub(t, { artifact });
  const dek = artifact.dek.toString("base64");
  const secretOf: Partial<Record<Route, string>> = {
    auth: API_KEY,
    latest: "session-token",
    authorize: CREDENTIAL,
    report: "session-token",
    publish: dek,
  };
  for (const [route, secret] of Object.entries(secretOf) as [OperationName, string][]) {
    const said = `bad\u001b[2J key\r\n\u0007${secret} and ${API_KEY}\u009b31m ${"long ".repeat(500)}`;
    hub.answer(route, json(403, { error: said, code: `code-${secret}\u001b` }));
    const error = await errorOf(callers(t, { hubUrl: hub.url, artifact })[route]());
    const shown = `${error.message} ${error.hint ?? ""} ${error.hubCode ?? ""} ${JSON.stringify(error)}`;
    t.notOk(shown.includes(secret), `${route}: the secret is not shown`);
    t.notOk(shown.includes(API_KEY), `${route}: nor is the key`);
    t.notMatch(error.message, /[\u0000-\u001f\u007f-\u009f]/, "no control characters");
    t.notMatch(error.hubCode ?? "", /[\u0000-\u001f\u007f-\u009f]/);
    t.ok(error.message.length < 700, "and it is short");
  }
});

t.test("a download is what the hub has, byte for byte", async (t) => {
  const hub = await startLyingHub(t, { artifact });
  const client = new DeployClient(PROJECT, { hubUrl: hub.url, apiKey: API_KEY, timeoutMs: 5000 });
  const progress: [number, number | undefined][] = [];
  const bytes = await readAll(
    client.download("1.0.0", await client.locate("1.0.0"), {
      maxBytes: 2 ** 30,
      onReceived: (received, total) => progress.push([received, total]),
    }) as AsyncIterable<Buffer>,
  );
  t.ok(bytes.equals(artifact.file));
  t.strictSame(progress.at(-1), [artifact.file.length, artifact.file.length]);
});

t.test("a session is renewed before it ends, and one that cannot be renewed is used to its end", async (t) => {
  let sessions = 0;
  let refusing = false;
  const used: string[] = [];
  const server = createServer((request, response) => {
    const isAuth = request.url?.endsWith("/v1/auth") === true;
    if (!isAuth) used.push(String(request.headers.authorization));
    request.resume();
    response.writeHead(isAuth && refusing ? 503 : 200, { "content-type": "application/json" });
    if (isAuth && !refusing) sessions++;
    response.end(
      JSON.stringify(isAuth ? { access_token: `token-${sessions}`, expires_in: 6000 } : { version: "1.0.0" }),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => server.close());
  const hubUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const hub = { hubUrl, apiKey: "slk_x", timeoutMs: 5000 };
  const [renewing, refused] = [new DeployClient("prj_a", hub), new DeployClient("prj_b", hub)];
  await renewing.latestVersion();
  await refused.latestVersion();
  t.strictSame(used, ["Bearer token-1", "Bearer token-2"]);
  // More than nineteen twentieths of their lives have passed.
  const now = performance.now.bind(performance);
  let passedMs = 5_800_000;
  performance.now = () => now() + passedMs;
  t.teardown(() => (performance.now = now));
  await renewing.latestVersion();
  t.equal(used.at(-1), "Bearer token-3", "without a refusal");
  refusing = true;
  await refused.latestVersion();
  t.equal(used.at(-1), "Bearer token-2", "the hub cannot renew now, and the session still lives");
  refusing = false;
  passedMs += 250_000;
  await refused.latestVersion();
  t.equal(used.at(-1), "Bearer token-4", "it has ended");
});
