import { rm, symlink } from "node:fs/promises";
import { connect } from "node:net";
import { Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { pino } from "pino";
import t from "tap";
import { type Answer, createProject, isErrorBody, publication, startHub } from "../../support/hub/harness.ts";

t.test("every error answer has the one body, also those of the framework", async (t) => {
  const hub = await startHub(t);
  isErrorBody(t, await hub.call("GET", "/nowhere"), 404, "not_found");
  isErrorBody(t, await hub.call("PATCH", "/devkeys/api-keys"), 404, "not_found");
  const post = (body: string, type: string) =>
    hub.call("POST", "/devkeys/projects", { body, headers: { "content-type": type } });
  isErrorBody(t, await post("{not json", "application/json"), 400, "bad_request");
  isErrorBody(t, await post("", "application/json"), 400, "bad_request");
  isErrorBody(t, await post('{"__proto__": {"x": 1}}', "application/json"), 400, "bad_request");
  isErrorBody(t, await post("null", "application/json"), 422, "unprocessable");
  isErrorBody(t, await post("[]", "application/json"), 422, "unprocessable");
  isErrorBody(t, await post("name=x", "application/x-www-form-urlencoded"), 415, "unsupported_media_type");
  isErrorBody(t, await post("{}", "text/plain"), 415, "unsupported_media_type");
  isErrorBody(t, await post(`"${"x".repeat(9_000_000)}"`, "application/json"), 413, "too_large");
  isErrorBody(t, await hub.call("GET", "/app/deploy/v1/projects/%zz/versions/latest"), 400, "bad_request");
  const long = `/app/deploy/v1/projects/${"x".repeat(3000)}/versions/latest`;
  t.ok((await hub.call("GET", long)).status >= 400);
});

t.test("bytes that are not HTTP get an answer with the one body", async (t) => {
  const hub = await startHub(t);
  const { hostname, port } = new URL(hub.url);
  const socket = connect(Number(port), hostname);
  socket.end("GARBAGE\r\n\r\n");
  let text = "";
  for await (const chunk of socket) text += String(chunk);
  t.match(text, /^HTTP\/1\.1 400 Bad Request\r\n/);
  t.match(JSON.parse(text.slice(text.indexOf("\r\n\r\n"))), { code: "bad_request" });
});

t.test("a defect answers 500 with the request id and nothing of the inside", async (t) => {
  const hub = await startHub(t);
  const project = await createProject(hub);
  const { artifact_id: id } = (await project.publish(publication("1.0.0"))).body as { artifact_id: string };
  const bearer = await project.session();
  const path = `/app/deploy/v1/projects/${project.id}/artifacts/1.0.0`;
  const url = (await hub.call("GET", path, { bearer })).body.download_url as string;
  // A link that leads to itself: nothing that the hub expects of its own folder.
  const blob = `${hub.dataDir}/blobs/${id.slice(-2)}/${id}`;
  await rm(blob);
  await symlink(blob, blob);
  const answer = await hub.call("GET", url, { key: null, headers: { "x-request-id": "trace-1" } });
  isErrorBody(t, answer, 500, "internal");
  t.match(answer.body.error, /trace-1/);
  t.notMatch(answer.body.error, /ELOOP|blobs/);
});

t.test("a request id is taken over when it is sane, and always answered", async (t) => {
  const hub = await startHub(t);
  const idOf = async (given?: string) =>
    (await hub.call("GET", "/healthz", given === undefined ? {} : { headers: { "x-request-id": given } })).headers.get(
      "x-request-id",
    );
  t.equal(await idOf("abc-123"), "abc-123");
  t.match(await idOf(), /^[0-9a-f-]{36}$/);
  t.match(await idOf('a"b'), /^[0-9a-f-]{36}$/);
  t.match(await idOf("x".repeat(500)), /^[0-9a-f-]{36}$/);
});

t.test("too many requests of one key are answered with 429 and Retry-After, others go on", async (t) => {
  // Within one minute, however slow the machine is.
  const now = Date.now();
  const hub = await startHub(t, { rateLimits: { requestsPerMinute: 5 }, clock: () => now });
  const answers: Answer[] = [];
  for (let i = 0; i < 7; i++) answers.push(await hub.call("GET", "/devkeys/projects"));
  t.strictSame(
    answers.map(({ status }) => status),
    [200, 200, 200, 200, 200, 429, 429],
  );
  for (const limited of answers.slice(5)) {
    isErrorBody(t, limited, 429, "rate_limited");
    t.match(limited.headers.get("retry-after"), /^\d+$/);
  }
  t.equal((await hub.call("GET", "/devkeys/projects", { key: "slk_other" })).status, 401);
  t.equal((await hub.call("GET", "/healthz")).status, 200, "health checks are not counted");
});

t.test("failed authentications of an address have a limit of their own, valid keys are not locked out", async (t) => {
  const now = Date.now();
  const hub = await startHub(t, { rateLimits: { failuresPerMinute: 3 }, clock: () => now });
  const project = await createProject(hub);
  const statuses: number[] = [];
  for (let i = 0; i < 3; i++)
    statuses.push((await hub.call("GET", "/devkeys/projects", { key: `slk_guess_${i}` })).status);
  const json = { xdevkey: "slk_guess_", project_id: project.id };
  const blocked = await hub.call("POST", "/app/deploy/v1/auth", { key: null, json });
  t.strictSame(statuses, [401, 401, 401]);
  isErrorBody(t, blocked, 429, "rate_limited");
  t.match(blocked.headers.get("retry-after"), /^\d+$/);
  t.equal((await hub.call("GET", "/devkeys/projects")).status, 200);
  const mistaken = { xdevkey: "slk_another_mistake", project_id: project.id };
  const other = await hub.call("POST", "/app/deploy/v1/auth", { key: null, json: mistaken });
  t.equal(other.status, 401, "one wrong key of an address says nothing of its other keys");
});

t.test("answers carry the security headers", async (t) => {
  const hub = await startHub(t);
  const answer = await hub.call("GET", "/devkeys/api-keys");
  t.equal(answer.headers.get("x-content-type-options"), "nosniff");
  t.equal(answer.headers.get("cache-control"), "no-store");
  t.equal((await hub.call("GET", "/nowhere")).headers.get("cache-control"), "no-store");
});

t.test("the log names requests by path and holds no secrets", async (t) => {
  let log = "";
  const sink = new Writable({
    write(chunk, _encoding, done) {
      log += String(chunk);
      done();
    },
  });
  const hub = await startHub(t, { logger: pino({ level: "debug" }, sink) });
  const project = await createProject(hub);
  const what = publication("1.0.0");
  await project.publish(what);
  const bearer = await project.session();
  const location = await hub.call("GET", `/app/deploy/v1/projects/${project.id}/artifacts/1.0.0`, { bearer });
  const url = new URL(location.body.download_url as string);
  await hub.call("GET", url.href, { key: null });
  await hub.call("GET", `/nowhere?secret=${project.key}`);
  // A record is written when its answer has gone out, which its reader may see first.
  for (let tries = 0; tries < 100 && !(log.includes(url.pathname) && log.includes("/nowhere")); tries++)
    await sleep(50);
  t.match(log, `"path":"${url.pathname}"`);
  t.match(log, '"path":"/nowhere"');
  const secrets = [hub.adminKey, project.key, project.credential, bearer, url.searchParams.get("signature") ?? "-"];
  for (const secret of [...secrets, what.dek.toString("base64")]) t.notOk(log.includes(secret));
});

t.test("the OpenAPI document has every route with its answers", async (t) => {
  const hub = await startHub(t);
  const { body, status } = await hub.call("GET", "/openapi.json", { key: null });
  t.equal(status, 200);
  t.match(body.openapi, /^3\./);
  const operations: string[] = [];
  for (const [path, methods] of Object.entries(body.paths as Record<string, Record<string, object>>)) {
    for (const [method, operation] of Object.entries(methods)) {
      operations.push(`${method} ${path}`);
      const { responses, summary } = operation as { responses: Record<string, object>; summary?: string };
      t.ok(summary, `${method} ${path} has a summary`);
      t.ok(responses["500"] && responses["429"], `${method} ${path} documents its errors`);
    }
  }
  const expected = [
    "post /app/deploy/v1/auth",
    "get /app/deploy/v1/projects/{project_id}/versions/latest",
    "get /app/deploy/v1/projects/{project_id}/artifacts/{version}",
    "get /app/deploy/v1/projects/{project_id}/hosts",
    "post /app/deploy/v1/projects/{project_id}/publish",
    "post /app/deploy/v1/deployments/authorize",
    "post /app/deploy/v1/deployments/report",
    "get /app/deploy/v1/downloads/{id}",
    "post /devkeys/api-keys",
    "get /app/devkeys/api-keys",
    "delete /devkeys/api-keys/{id}",
    "post /devkeys/projects",
    "post /devkeys/signing-key",
    "get /app/marketplace/plugins",
    "get /app/marketplace/plugins/{slug}",
    "get /app/services/services/{slug}",
    "get /app/marketplace/plugins/{slug}/install",
    "get /app/marketplace/plugins/{slug}/versions",
    "post /app/marketplace/plugins/{slug}/versions",
    "post /app/services/services/{slug}/versions",
    "post /app/marketplace/plugins/{slug}/versions/{version}/yank",
    "delete /app/marketplace/plugins/{slug}/versions/{version}/yank",
    "patch /app/marketplace/plugins/{slug}",
    "get /app/marketplace/plugins/{slug}/grants",
    "post /app/marketplace/plugins/{slug}/grants",
    "delete /app/marketplace/plugins/{slug}/grants/{owner}",
    "post /app/deployments/deployments/report",
    "get /app/deployments/deployments/{kind}/{slug}/hosts",
    "get /app/deployments/deployments/{kind}/{slug}/reports",
    "get /healthz",
    "get /readyz",
  ];
  for (const operation of expected) t.ok(operations.includes(operation), operation);
});
