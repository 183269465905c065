/* oxlint-disable typescript/no-unsafe-argument -- answers are JSON of any shape */
import t from "tap";
import { createProject, isErrorBody, publication, sha256, startHub } from "../../support/hub/harness.ts";
import { operatedFleet } from "../../support/hub/project-fleet.ts";

const DEPLOY = "/app/deploy/v1";

t.test("a project goes from its publisher through the hub to a host", async (t) => {
  const hub = await startHub(t);
  const project = await createProject(hub);
  t.match(project.id, /^prj_[0-9a-f]{32}$/);
  t.match(project.key, /^slk_[\w-]{43}$/);
  t.match(project.credential, /^sdc_[\w-]{43}$/);

  const what = publication("1.2.0", { size: 300_000 });
  const published = await project.publish(what);
  t.equal(published.status, 201);
  t.match(published.body, {
    artifact_id: /^art_/,
    project_id: project.id,
    version: "1.2.0",
    content_sha256: what.contentSha256,
    size_bytes: 300_000,
    created_at: /Z$/,
    artifact_sha256: sha256(what.bytes),
  });

  const bearer = await project.session();
  t.match(bearer, /^sls_/);
  const latest = await hub.call("GET", `${DEPLOY}/projects/${project.id}/versions/latest`, { bearer });
  t.strictSame(latest.body, { version: "1.2.0" });

  const location = await hub.call("GET", `${DEPLOY}/projects/${project.id}/artifacts/1.2.0`, { bearer });
  t.equal(location.status, 200);
  t.equal(location.body.signature, what.signature.toString("base64"));
  t.equal(location.body.signer_public_key, what.publicKey.toString("base64"));

  const authorized = await hub.call("POST", `${DEPLOY}/deployments/authorize`, {
    bearer,
    json: { deployment_credential: project.credential, artifact_signature: location.body.signature },
  });
  t.strictSame(authorized.body, { dek: what.dek.toString("base64") });
  t.equal(authorized.headers.get("cache-control"), "no-store");

  const downloaded = await hub.call("GET", location.body.download_url, { key: null });
  t.equal(downloaded.status, 200);
  t.ok(downloaded.bytes.equals(what.bytes));
});

t.test("the routes after a session ask for a live one of the same project", async (t) => {
  const hub = await startHub(t);
  const mine = await createProject(hub);
  const other = await createProject(hub);
  await mine.publish(publication("1.0.0"));
  const bearer = await mine.session();
  const latest = (id: string) => `${DEPLOY}/projects/${id}/versions/latest`;

  isErrorBody(t, await hub.call("GET", latest(mine.id), { key: null }), 401, "key_missing");
  isErrorBody(t, await hub.call("GET", latest(mine.id), { bearer: "sls_nonsense" }), 401, "key_rejected");
  isErrorBody(t, await hub.call("GET", latest(other.id), { bearer }), 403, "forbidden");
  isErrorBody(t, await hub.call("GET", `${DEPLOY}/projects/${other.id}/artifacts/1.0.0`, { bearer }), 403, "forbidden");
  isErrorBody(t, await hub.call("GET", `${DEPLOY}/projects/${mine.id}/artifacts/9.9.9`, { bearer }), 404, "not_found");
  isErrorBody(t, await hub.call("GET", latest(other.id), { bearer: await other.session() }), 404, "no_version");
});

t.test("a session is opened for a key of that project only", async (t) => {
  const hub = await startHub(t);
  const mine = await createProject(hub);
  const other = await createProject(hub);
  const auth = (xdevkey: unknown, project_id: unknown) =>
    hub.call("POST", `${DEPLOY}/auth`, {
      key: null,
      json: { xdevkey, project_id, client: "unknown fields are ignored" },
    });

  t.match((await auth(mine.key, mine.id)).body, { expires_in: 3600, project_name: "Demo" });
  t.equal((await auth(hub.adminKey, mine.id)).status, 200, "an administrator's key is for every project");
  isErrorBody(t, await auth("slk_wrong", mine.id), 401, "key_rejected");
  isErrorBody(t, await auth(mine.key, other.id), 403, "forbidden");
  isErrorBody(t, await auth(mine.key, "prj_missing000"), 403, "forbidden");
  isErrorBody(t, await auth(undefined, mine.id), 422, "unprocessable");
  t.match((await auth(undefined, mine.id)).body.error, /xdevkey is missing/);
  isErrorBody(t, await auth(mine.key, 7), 422, "unprocessable");

  const publishOnly = await createProject(hub, ["publish"]);
  isErrorBody(t, await auth(publishOnly.key, publishOnly.id), 403, "forbidden");
});

t.test("a session ends after an hour", async (t) => {
  let now = Date.parse("2026-03-01T12:00:00Z");
  const hub = await startHub(t, { clock: () => now });
  const project = await createProject(hub);
  await project.publish(publication("1.0.0"));
  const bearer = await project.session();
  const path = `${DEPLOY}/projects/${project.id}/versions/latest`;
  now += 3599_000;
  t.equal((await hub.call("GET", path, { bearer })).status, 200);
  now += 1000;
  isErrorBody(t, await hub.call("GET", path, { bearer }), 401, "key_rejected");
});

t.test("latest is the highest stable version, whatever the order of publishing", async (t) => {
  const hub = await startHub(t);
  const project = await createProject(hub);
  const bearer = await project.session();
  const path = `${DEPLOY}/projects/${project.id}/versions/latest`;
  const steps: [string, string][] = [
    ["1.0.0-rc.1", "1.0.0-rc.1"],
    ["0.9.0", "0.9.0"],
    ["1.10.0", "1.10.0"],
    ["1.9.0", "1.10.0"],
    ["2.0.0-beta", "1.10.0"],
  ];
  for (const [version, latest] of steps) {
    t.equal((await project.publish(publication(version))).status, 201, version);
    t.equal((await hub.call("GET", path, { bearer })).body.version, latest);
  }
  const etag = (await hub.call("GET", path, { bearer })).headers.get("etag") ?? "";
  const unchanged = await hub.call("GET", path, { bearer, headers: { "if-none-match": etag } });
  t.equal(unchanged.status, 304);
  t.equal(unchanged.bytes.length, 0);
});

/** Statements of the work that a hub does beside its requests: rollouts, hints, webhooks. */
const BESIDE_REQUESTS = /\bfrom "?(?:rollouts|changes|webhook)/i;

t.test("latest, with its session and key, is one statement", async (t) => {
  const statements: string[] = [];
  const onStatement = (text: string) => !BESIDE_REQUESTS.test(text) && statements.push(text);
  const hub = await startHub(t, { onStatement });
  const project = await createProject(hub);
  await project.publish(publication("1.0.0"));
  const bearer = await project.session();
  statements.length = 0;
  t.equal((await hub.call("GET", `${DEPLOY}/projects/${project.id}/versions/latest`, { bearer })).status, 200);
  t.equal(statements.length, 1, statements.join("\n"));
});

t.test("latest while a version is rolled out, for a host that says its name, is one statement, too", async (t) => {
  const statements: string[] = [];
  const ofRollouts = /"rollouts"|"versions"|"views"|"audit"|"hosts"/;
  const isOther = (text: string) => BESIDE_REQUESTS.test(text) || ofRollouts.test(text);
  const hub = await startHub(t, { onStatement: (text) => !isOther(text) && statements.push(text) });
  const fleet = await operatedFleet(hub);
  await fleet.publish("1.0.0", "2.0.0");
  await fleet.report("a", "1.0.0");
  await fleet.start({ version: "2.0.0", waves: ["1%", "100%"] });
  statements.length = 0;
  for (const told of [await fleet.latest("a"), await fleet.latest("b")]) t.equal(told.status, 200);
  t.equal(statements.length, 2, statements.join("\n"));
});

t.test("authorize refuses at once what was revoked or has expired, also with a live session", async (t) => {
  let now = Date.parse("2026-03-01T12:00:00Z");
  const hub = await startHub(t, { clock: () => now });
  const project = await createProject(hub);
  const what = publication("1.0.0");
  await project.publish(what);
  const authorize = (bearer: string, credential: unknown, signature = what.signature.toString("base64")) =>
    hub.call("POST", `${DEPLOY}/deployments/authorize`, {
      bearer,
      json: { deployment_credential: credential, artifact_signature: signature },
    });
  const shortLived = await hub.call("POST", "/devkeys/api-keys", {
    json: { name: "short", project_id: project.id, expires_at: new Date(now + 60_000).toISOString() },
  });
  const bearer = await project.session();

  t.equal((await authorize(bearer, shortLived.body.deployment_credential)).status, 200);
  now += 61_000;
  isErrorBody(t, await authorize(bearer, shortLived.body.deployment_credential), 403, "forbidden");

  isErrorBody(t, await authorize(bearer, "sdc_unknown"), 403, "forbidden");
  isErrorBody(t, await authorize(bearer, project.credential, "AAAA"), 400, "bad_request");
  isErrorBody(t, await authorize(bearer, project.credential, "not base64!"), 400, "bad_request");
  isErrorBody(t, await authorize(bearer, undefined), 422, "unprocessable");
  const unknown = Buffer.alloc(64, 1).toString("base64");
  isErrorBody(t, await authorize(bearer, project.credential, unknown), 404, "not_found");

  const foreign = await createProject(hub);
  isErrorBody(t, await authorize(bearer, foreign.credential), 403, "forbidden");
  isErrorBody(t, await authorize(await foreign.session(), foreign.credential), 404, "not_found");

  t.equal((await authorize(bearer, project.credential)).status, 200);
  const second = await hub.call("POST", "/devkeys/api-keys", { json: { name: "second", project_id: project.id } });
  t.equal((await hub.call("DELETE", `/devkeys/api-keys/${second.body.id}`)).status, 204);
  isErrorBody(t, await authorize(bearer, second.body.deployment_credential), 403, "forbidden");
  t.equal((await hub.call("DELETE", `/devkeys/api-keys/${project.keyId}`)).status, 204);
  isErrorBody(t, await authorize(bearer, project.credential), 401, "key_rejected");
});

t.test("reports are taken as independent agents send them, once each", async (t) => {
  const hub = await startHub(t);
  const project = await createProject(hub);
  const bearer = await project.session();
  const report = (changes: object) =>
    hub.call("POST", `${DEPLOY}/deployments/report`, {
      bearer,
      json: {
        project_id: project.id,
        deployment_id: "",
        status: "success",
        version: "1.0.0",
        started_at: "",
        completed_at: "",
        plugins: [{ id: "hello", version: "1.0.0", sha256: null, environment: null, source: null }],
        ...changes,
      },
    });
  const fleet = () => hub.call("GET", `${DEPLOY}/projects/${project.id}/hosts`, { key: project.key });

  const generated = await report({});
  t.equal(generated.status, 200);
  t.match(generated.body.deployment_id, /^dpl_/);
  const first = await report({ deployment_id: "d-1", host_id: "web-1", started_at: "2026-01-01T00:00:00Z" });
  t.strictSame(first.body, { deployment_id: "d-1" });
  const again = await report({ deployment_id: "d-1", host_id: "web-1", status: "failed" });
  t.strictSame(again.body, { deployment_id: "d-1" });
  const hosts = await fleet();
  t.strictSame(Object.keys(hosts.body as object), ["default", "web-1"]);
  t.match(hosts.body["web-1"], { status: "success", deployment_id: "d-1", started_at: "2026-01-01T00:00:00Z" });

  await report({
    deployment_id: "d-2",
    host_id: "web-1",
    status: "failed",
    rolled_back: true,
    error_message: "unhealthy",
  });
  t.match((await fleet()).body["web-1"], { status: "rolled_back", error_message: "unhealthy" });
  await report({
    deployment_id: "d-3",
    host_id: "web-1",
    status: "failed",
    version: "9.9.9",
    running_version: "8.0.0",
  });
  t.match((await fleet()).body["web-1"], { version: "9.9.9", running_version: "8.0.0" });

  isErrorBody(t, await report({ status: "rolled_back" }), 422, "unprocessable");
  isErrorBody(t, await report({ started_at: "yesterday" }), 422, "unprocessable");
  isErrorBody(t, await report({ version: undefined }), 422, "unprocessable");
  const other = await createProject(hub);
  isErrorBody(t, await report({ project_id: other.id }), 403, "forbidden");
});

t.test("the fleet is keyed by host id in host-id order, and a refresh gives what changed", async (t) => {
  const hub = await startHub(t);
  const project = await createProject(hub);
  const bearer = await project.session();
  const path = `${DEPLOY}/projects/${project.id}/hosts`;
  const report = (host_id: string, version: string) =>
    hub.call("POST", `${DEPLOY}/deployments/report`, {
      bearer,
      json: {
        project_id: project.id,
        deployment_id: "",
        status: "success",
        version,
        started_at: "",
        completed_at: "",
        plugins: [],
        host_id,
      },
    });
  t.strictSame((await hub.call("GET", path, { bearer })).body, {});
  const order = ["10", "9", "Z", "__proto__", "a", "é", "\u{ff5e}"];
  for (const host of [...order].reverse()) t.equal((await report(host, "1")).status, 200);

  const whole = await hub.call("GET", path, { bearer });
  const positions = order.map((host) => whole.bytes.indexOf(`${JSON.stringify(host)}:{"host_id"`));
  t.ok(
    positions.every((position, index) => position > (positions[index - 1] ?? 0)),
    positions.join(" "),
  );
  const etag = whole.headers.get("etag") ?? "";
  const cursor = whole.headers.get("x-cursor") ?? "";
  t.equal((await hub.call("GET", path, { bearer, headers: { "if-none-match": etag } })).status, 304);
  t.strictSame((await hub.call("GET", `${path}?since=${cursor}`, { bearer })).body, {});

  await report("a", "2");
  await report("9", "2");
  t.equal((await hub.call("GET", path, { bearer, headers: { "if-none-match": etag } })).status, 200);
  const changed = await hub.call("GET", `${path}?since=${cursor}`, { bearer });
  t.strictSame(Object.keys(changed.body as object), ["9", "a"]);
  t.not(changed.headers.get("x-cursor"), cursor);
  isErrorBody(t, await hub.call("GET", `${path}?since=x`, { bearer }), 422, "unprocessable");

  const other = await createProject(hub);
  isErrorBody(t, await hub.call("GET", path, { key: other.key }), 403, "forbidden");
  isErrorBody(t, await hub.call("GET", path, { bearer: await other.session() }), 403, "forbidden");
  isErrorBody(t, await hub.call("GET", path, { key: null }), 401, "key_missing");
});
