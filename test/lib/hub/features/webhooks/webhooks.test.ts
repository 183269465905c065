// Holds: when a message is given up, and a webhook disabled (lib/hub/features/webhooks/schedule.ts)
// Holds: the data and texts of messages (lib/hub/features/webhooks/messages.ts)
// Holds: the data of messages about hosts (lib/hub/features/webhooks/outbox-records.ts)
/* oxlint-disable typescript/no-unsafe-argument -- answers are JSON of any shape */
/* oxlint-disable typescript/no-unsafe-return -- answers are JSON of any shape */
import { join } from "node:path";
import { pino } from "pino";
import { Webhook } from "standardwebhooks";
import t, { type Test } from "tap";
import { createHub } from "../../../../../lib/hub/hub.ts";
import { hmacOf, zipOf } from "../../../../support/hub/archives.ts";
import {
  createProject,
  isErrorBody,
  newSigner,
  publication,
  type RunningHub,
  startHub,
} from "../../../../support/hub/harness.ts";
import { startPostgres } from "../../../../support/hub/postgres-server.ts";
import { type Receiver, signatureOf, startReceiver } from "../../../../support/hub/receiver.ts";
import { senderOf } from "../../../../support/hub/webhooks.ts";

const SCOPES = ["publish", "projects", "deploy", "report", "read"];
const LOCAL = { webhookAllow: ["127.0.0.0/8"], rateLimits: false } as const;
const HOUR_MS = 3_600_000;

const add = async (hub: RunningHub, receiver: Receiver, json: object = {}) =>
  (await hub.call("POST", "/devkeys/webhooks", { json: { url: `${receiver.url}/hook?token=s3cret`, ...json } })).body;

/** A version reaches a fleet, fails there, and is yanked: its owner hears of everything, signed. */
async function tells(t: Test, hub: RunningHub): Promise<void> {
  const receiver = await startReceiver(t);
  const project = await createProject(hub, SCOPES);
  const { id, secret } = await add(hub, receiver, { name: "ops" });
  t.match(secret, /^whsec_/);
  const signer = newSigner();
  await project.publish(publication("1.0.0", { signer }));
  await project.publish(publication("1.0.0", { signer }));
  const { key } = project;
  const versions = `/devkeys/projects/${project.id}/versions/1.0.0/yank`;
  await hub.call("POST", versions, { key, json: { reason: "it leaks" } });
  await hub.call("DELETE", versions, { key });
  const bearer = await project.session();
  const report = (host: string, more: object) =>
    hub.call("POST", "/app/deploy/v1/deployments/report", {
      bearer,
      json: {
        ...{ project_id: project.id, deployment_id: host, status: "success", version: "1.0.0", plugins: [] },
        ...{ started_at: "", completed_at: "", host_id: host, ...more },
      },
    });
  await report("a", {});
  await report("b", { status: "failed", error_message: "port taken" });
  await receiver.until(4);
  await senderOf(hub.hub).idle();

  const target = `project:${project.id}`;
  const told = new Map(receiver.received.map(({ body }) => [body.type as string, body.data]));
  t.strictSame(
    [...told.keys()].toSorted(),
    ["host.failed", "version.published", "version.restored", "version.yanked"],
    "once each",
  );
  t.match(told.get("version.published"), {
    target,
    name: "Demo",
    version: "1.0.0",
    actor: "admin",
    sha256: /^[0-9a-f]/,
  });
  t.match(told.get("version.yanked"), { reason: "it leaks" });
  t.match(told.get("host.failed"), { target, host_id: "b", status: "failed", error_message: "port taken" });
  for (const message of receiver.received) {
    t.equal(message.path, "/hook?token=s3cret");
    t.equal(message.headers["webhook-signature"], signatureOf(message, secret), "by node:crypto");
    t.doesNotThrow(() => new Webhook(secret).verify(message.text, message.headers as Record<string, string>));
  }
  t.equal(new Set(receiver.received.map(({ headers }) => headers["webhook-id"])).size, 4);

  const list = (await hub.call("GET", "/devkeys/webhooks")).body.items;
  t.match(list, [{ id, name: "ops", origin: receiver.url, pending: 0, dead: 0, last_error: null, state: "enabled" }]);
  t.notMatch(JSON.stringify(list), /s3cret|whsec/, "a list shows neither path nor secret");
}

t.test("owners hear of versions and failing hosts, on SQLite", async (t) => tells(t, await startHub(t, LOCAL)));

t.test("owners hear of versions and failing hosts, on PostgreSQL", async (t) => {
  const databaseUrl = await startPostgres(t);
  if (databaseUrl === undefined) return void t.plan(0, "PostgreSQL is not installed");
  await tells(t, await startHub(t, { ...LOCAL, databaseUrl }));
});

t.test("a webhook hears of its events and of its target only, and a chat gets a text", async (t) => {
  const hub = await startHub(t, LOCAL);
  const receiver = await startReceiver(t);
  const [one, other] = [await createProject(hub, SCOPES), await createProject(hub, SCOPES)];
  await add(hub, receiver, { target: `project:${one.id}`, events: ["version.yanked"], format: "slack" });
  for (const project of [other, one]) {
    const { id, key } = project;
    await project.publish(publication("1.0.0"));
    const reason = "see <!channel> & run";
    await hub.call("POST", `/devkeys/projects/${id}/versions/1.0.0/yank`, { key, json: { reason } });
  }
  await receiver.until(1);
  await senderOf(hub.hub).idle();
  t.strictSame(
    receiver.received.map(({ body }) => body),
    [{ text: "Demo: 1.0.0 was yanked by admin: see &lt;!channel&gt; &amp; run" }],
  );
});

t.test("reports of a foreign plugin are those of the fleet's owner", async (t) => {
  const hub = await startHub(t, LOCAL);
  const receiver = await startReceiver(t);
  await hub.call("POST", "/devkeys/projects", { json: { name: "Tide", kind: "plugin", slug: "tide" } });
  const json = { name: "bob", owner: "bob", scopes: ["projects", "report", "read"] };
  const key = (await hub.call("POST", "/devkeys/api-keys", { json })).body.key;
  const url = `${receiver.url}/bob`;
  const added = await hub.call("POST", "/devkeys/webhooks", { key, json: { url, target: "plugin:tide" } });
  t.equal(added.status, 201);
  const form = new FormData();
  const archive = zipOf({ "tide-1.0.0/plugin.yaml": "name: tide\n" });
  form.set("version", "1.0.0");
  form.set("signature", hmacOf(archive, "s"));
  form.set("archive", new Blob([new Uint8Array(archive)]), "archive.zip");
  await hub.call("POST", "/app/marketplace/plugins/tide/versions", { form });
  const report = {
    ...{ kind: "plugin", slug: "tide", version: "1.0.0", status: "rolled_back", host_id: "alpha" },
    ...{ started_at: "2026-01-01T00:00:00Z", completed_at: "2026-01-01T00:00:00Z", error_message: "unhealthy" },
  };
  await hub.call("POST", "/app/deployments/deployments/report", { json: report });
  await hub.call("POST", "/app/deployments/deployments/report", { key, json: report });
  await receiver.until(1);
  await senderOf(hub.hub).idle();
  t.match(
    receiver.received.map(({ body }) => body),
    [{ type: "host.failed", data: { target: "plugin:tide", status: "rolled_back" } }],
  );
  t.equal(receiver.received.length, 1, "neither the other owner's version nor its hosts");
  t.equal((await hub.call("POST", "/devkeys/webhooks", { key, json: { url, target: "plugin:none" } })).status, 404);
});

t.test(
  "a failing host's message names its plugin where the owner may see it, and texts have 500 characters",
  async (t) => {
    const hub = await startHub(t, LOCAL);
    const receiver = await startReceiver(t);
    await hub.call("POST", "/devkeys/projects", { json: { name: "Tide table", kind: "plugin", slug: "tide" } });
    const json = { name: "bob", owner: "bob", scopes: ["projects", "report", "read"] };
    const key = (await hub.call("POST", "/devkeys/api-keys", { json })).body.key;
    await hub.call("POST", "/devkeys/webhooks", { key, json: { url: `${receiver.url}/bob` } });
    const report = {
      ...{ kind: "plugin", slug: "tide", version: "1.0.0", status: "failed", host_id: "alpha" },
      ...{ started_at: "2026-01-01T00:00:00Z", completed_at: "2026-01-01T00:00:00Z" },
    };
    const fails = (error_message: string) =>
      hub.call("POST", "/app/deployments/deployments/report", { key, json: { ...report, error_message } });
    const heard = async (count: number) => {
      await receiver.until(count);
      return (receiver.received.at(-1)!.body as { data: { name: string; error_message: string } }).data;
    };
    await fails("x".repeat(500));
    t.match(await heard(1), { name: "Tide table", error_message: /^x{500}$/ });
    await hub.call("PATCH", "/app/marketplace/plugins/tide", { json: { visibility: "private" } });
    await fails(`${"x".repeat(498)}\u{1F6A2}${"x".repeat(100)}`);
    t.match(await heard(2), { name: "tide", error_message: /^x{498}…$/ }, "no half character");
    await hub.call("POST", "/app/marketplace/plugins/tide/grants", { json: { owner: "bob" } });
    await fails("y".repeat(501));
    t.match(await heard(3), { name: "Tide table", error_message: /^y{499}…$/ });
  },
);

t.test("what fails is sent again after minutes to a day, is dead then, and is sent anew when asked for", async (t) => {
  let now = Date.now();
  const hub = await startHub(t, { ...LOCAL, clock: () => now });
  const webhooks = senderOf(hub.hub);
  const receiver = await startReceiver(t);
  const project = await createProject(hub, SCOPES);
  const { id } = await add(hub, receiver, { events: ["version.published"] });
  receiver.answer = (response) => response.writeHead(500, { "retry-after": "600" }).end("no");
  await project.publish(publication("1.0.0"));
  const at = `/devkeys/webhooks/${id}`;
  const delivery = async () => (await hub.call("GET", `${at}/deliveries`)).body.items[0];

  await receiver.until(1);
  await webhooks.idle();
  const first = await delivery();
  t.match(first, { state: "pending", attempts: 1, last_error: "the receiver answered 500" });
  t.equal(Math.round((Date.parse(first.next_attempt_at) - now) / 60_000), 10, "as long as the receiver asks for");
  now += 9 * 60_000;
  await webhooks.idle();
  t.equal(receiver.received.length, 1, "not sooner");
  for (let attempt = 2; attempt <= 8; attempt++) {
    now = Date.parse((await delivery()).next_attempt_at);
    await webhooks.idle();
    t.equal(receiver.received.length, attempt);
  }
  t.match(await delivery(), { id: first.id, state: "dead", attempts: 8, next_attempt_at: null });
  t.equal(new Set(receiver.received.map(({ headers }) => headers["webhook-id"])).size, 1, "one id for all attempts");
  now += 24 * HOUR_MS;
  await webhooks.idle();
  t.equal(receiver.received.length, 8);

  receiver.answer = (response) => response.writeHead(200).end();
  isErrorBody(t, await hub.call("POST", `${at}/redeliver`, { json: { delivery: "msg_none" } }), 404, "not_found");
  t.match((await hub.call("POST", `${at}/redeliver`)).body, { redelivered: 1 });
  await webhooks.idle();
  t.equal(receiver.received.at(-1)!.headers["webhook-id"], first.id);
  t.match((await hub.call("GET", "/devkeys/webhooks")).body.items[0], { failing_since: null, dead: 0, pending: 0 });
});

t.test(
  "dead messages of weeks ago are sent again when asked for, and those that a hub slept over are not",
  async (t) => {
    let now = Date.now();
    const hub = await startHub(t, { ...LOCAL, clock: () => now });
    const webhooks = senderOf(hub.hub);
    const receiver = await startReceiver(t);
    const project = await createProject(hub, SCOPES);
    const { id } = await add(hub, receiver, { events: ["version.published"] });
    const shown = async () => (await hub.call("GET", "/devkeys/webhooks")).body.items[0];
    receiver.answer = (response) => response.writeHead(500).end();
    await project.publish(publication("1.0.0"));
    await webhooks.idle();
    t.match(await shown(), { dead: 0, pending: 1 });
    now += 5 * 24 * HOUR_MS;
    await webhooks.idle();
    t.equal(receiver.received.length, 1, "the hub was down for five days");
    t.match(await shown(), { dead: 1, pending: 0 });

    now += 14 * 24 * HOUR_MS;
    receiver.answer = (response) => response.writeHead(204).end();
    await hub.call("POST", `/devkeys/webhooks/${id}/enable`);
    t.match((await hub.call("POST", `/devkeys/webhooks/${id}/redeliver`)).body, { redelivered: 1 });
    await webhooks.idle();
    t.equal(receiver.received.length, 2);
    t.match(await shown(), { dead: 0, pending: 0 });
  },
);

t.test(
  "a receiver that fails for days is disabled with a line in the audit log, and one that is gone at once",
  async (t) => {
    let now = Date.now();
    const hub = await startHub(t, { ...LOCAL, clock: () => now });
    const webhooks = senderOf(hub.hub);
    const receiver = await startReceiver(t);
    const project = await createProject(hub, SCOPES);
    const { id } = await add(hub, receiver, { events: ["version.published"] });
    receiver.answer = (response) => response.writeHead(503).end();
    const shown = async () => (await hub.call("GET", "/devkeys/webhooks")).body.items[0];
    for (const version of ["1.0.0", "2.0.0"]) {
      await project.publish(publication(version));
      await webhooks.idle();
      t.equal((await shown()).state, "enabled");
      for (let hour = 0; hour < 4 * 24; hour++) {
        now += HOUR_MS;
        await webhooks.idle();
      }
    }
    t.match(await shown(), { state: "disabled", dead: 2, last_error: "the receiver answered 503" });
    const log = (await hub.call("GET", "/devkeys/audit?action=webhook.disable")).body.items;
    t.match(log, [{ actor: "hub", subject: id }]);

    const count = receiver.received.length;
    await project.publish(publication("3.0.0"));
    await webhooks.idle();
    t.equal(receiver.received.length, count, "it hears nothing more");
    isErrorBody(t, await hub.call("POST", `/devkeys/webhooks/${id}/redeliver`), 409, "conflict");
    t.match((await hub.call("POST", `/devkeys/webhooks/${id}/enable`)).body, { state: "enabled", failing_since: null });
    receiver.answer = (response) => response.writeHead(410).end();
    await project.publish(publication("4.0.0"));
    await webhooks.idle();
    t.match(await shown(), { state: "disabled", dead: 3 });
  },
);

t.test("two hubs send each message once, and a hub that dies loses none", async (t) => {
  const databaseUrl = await startPostgres(t);
  if (databaseUrl === undefined) return void t.plan(0, "PostgreSQL is not installed");
  const now = Date.now();
  const folder = t.testdir();
  const keks = { file: join(folder, "kek.json") };
  const shared = { ...LOCAL, databaseUrl, clock: () => now, keks, blobUrl: join(folder, "blobs") };
  const hub = await startHub(t, { ...shared, dataDir: join(folder, "a") });
  const second = await createHub({ ...shared, dataDir: join(folder, "b"), listen: { host: "127.0.0.1", port: 0 } });
  t.teardown(() => second.close());
  const receiver = await startReceiver(t);
  const project = await createProject(hub, SCOPES);
  const { id } = await add(hub, receiver);
  const signer = newSigner();
  for (let version = 0; version < 12; version++) await project.publish(publication(`1.0.${version}`, { signer }));
  await Promise.all([senderOf(hub.hub).idle(), senderOf(second).idle()]);
  await receiver.until(12);
  await Promise.all([senderOf(hub.hub).idle(), senderOf(second).idle()]);
  t.equal(receiver.received.length, 12);
  t.equal(new Set(receiver.received.map(({ headers }) => headers["webhook-id"])).size, 12);

  // It takes a message and says nothing more, as one that was killed.
  receiver.answer = () => {};
  await project.publish(publication("2.0.0", { signer }));
  void senderOf(second).send();
  void senderOf(hub.hub).send();
  await receiver.until(13);
  await Promise.all([second.close(), hub.hub.close()]);
  t.equal(receiver.received.length, 13, "while one has it, the other leaves it alone");
  receiver.answer = (response) => response.writeHead(204).end();
  const third = await startHub(t, { ...shared, dataDir: join(folder, "a") });
  await senderOf(third.hub).idle();
  t.equal(receiver.received.length, 14, "the next hub has what those left that ended");
  t.equal(receiver.received[13]!.headers["webhook-id"], receiver.received[12]!.headers["webhook-id"]);
  t.match((await third.call("GET", "/devkeys/webhooks")).body.items, [{ id, pending: 0 }]);
});

t.test("after a rotation messages bear two signatures for a time, then the new one", async (t) => {
  let now = Date.now();
  const hub = await startHub(t, { ...LOCAL, clock: () => now });
  const receiver = await startReceiver(t);
  const project = await createProject(hub, SCOPES);
  const { id, secret: old } = await add(hub, receiver);
  const at = `/devkeys/webhooks/${id}`;
  const rotated = await hub.call("POST", `${at}/rotate`, { json: { grace_seconds: 3600 } });
  const { secret } = rotated.body;
  await project.publish(publication("1.0.0"));
  await senderOf(hub.hub).idle();
  const [first] = receiver.received;
  t.equal(first!.headers["webhook-signature"], `${signatureOf(first!, secret)} ${signatureOf(first!, old)}`);
  now += 2 * HOUR_MS;
  await project.publish(publication("2.0.0"));
  await senderOf(hub.hub).idle();
  t.equal(receiver.received[1]!.headers["webhook-signature"], signatureOf(receiver.received[1]!, secret));
  t.equal((await hub.call("DELETE", at)).status, 204);
  t.strictSame((await hub.call("GET", "/devkeys/webhooks")).body.items, []);
});

t.test("webhooks are their owner's: others neither see, test, change nor remove them", async (t) => {
  const hub = await startHub(t, LOCAL);
  const receiver = await startReceiver(t);
  const project = await createProject(hub, SCOPES);
  const { id } = await add(hub, receiver);
  const keyOf = async (json: object) => (await hub.call("POST", "/devkeys/api-keys", { json })).body.key as string;
  const mallory = await keyOf({ name: "m", owner: "mallory", scopes: ["projects", "publish", "read"] });
  const reader = await keyOf({ name: "r", scopes: ["read", "publish"] });
  const bound = project.key;
  const routes = [
    ["GET", `/devkeys/webhooks/${id}/deliveries`],
    ...["test", "redeliver", "rotate", "enable"].map((action) => ["POST", `/devkeys/webhooks/${id}/${action}`]),
    ["DELETE", `/devkeys/webhooks/${id}`],
  ] as [string, string][];
  for (const [method, path] of routes) {
    isErrorBody(t, await hub.call(method, path, { key: null }), 401, "key_missing");
    isErrorBody(t, await hub.call(method, path, { key: mallory }), 404, "not_found");
    isErrorBody(t, await hub.call(method, path, { key: reader }), 403, "forbidden");
    isErrorBody(t, await hub.call(method, path, { key: bound }), 403, "forbidden");
  }
  t.strictSame((await hub.call("GET", "/devkeys/webhooks", { key: mallory })).body.items, []);
  const json = { url: receiver.url, target: `project:${project.id}` };
  isErrorBody(t, await hub.call("POST", "/devkeys/webhooks", { key: mallory, json }), 404, "not_found");
  for (let count = 1; count < 20; count++) await add(hub, receiver);
  isErrorBody(t, await hub.call("POST", "/devkeys/webhooks", { json: { url: receiver.url } }), 409, "conflict");
  t.equal(receiver.received.length, 0);
});

t.test("a test message tells whether it arrived, and neither log nor audit log holds path or secret", async (t) => {
  let log = "";
  const logger = pino({ level: "trace" }, { write: (line) => void (log += line) });
  const hub = await startHub(t, { ...LOCAL, logger });
  const receiver = await startReceiver(t);
  const { id, secret } = await add(hub, receiver, { name: "ops" });
  const test = () => hub.call("POST", `/devkeys/webhooks/${id}/test`);
  t.match(await test(), { status: 200, body: { delivered: true, error: null } });
  t.match(receiver.received[0]!.body, { type: "webhook.test", data: { name: "ops" } });
  receiver.answer = (response) => response.writeHead(302, { location: "/elsewhere" }).end();
  t.match((await test()).body, { delivered: false, error: /302/ });
  receiver.answer = (response) => response.destroy();
  t.match((await test()).body, { delivered: false, error: /ECONNRESET/ });
  const audit = (await hub.call("GET", "/devkeys/audit")).body as { items: object[] };
  t.match(audit.items[0], { action: "webhook.add", facts: { origin: receiver.url } });
  await hub.hub.close();
  for (const text of [JSON.stringify(audit), log])
    for (const hidden of ["s3cret", String(secret).slice(6, 16)]) t.notOk(text.includes(hidden), hidden);
});
