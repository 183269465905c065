import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import t from "tap";
import { FEATURES } from "../../../lib/hub/features.ts";
import { openDatabase } from "../../../lib/hub/records/database.ts";
import { removeReports } from "../../../lib/hub/records/report-history.ts";
import { usageOf } from "../../../lib/hub/records/usage.ts";
import { retainVersions } from "../../../lib/hub/upkeep/retention.ts";
import { isErrorBody, type RunningHub, startHub } from "../../support/hub/harness.ts";

const REPORT = "/app/deployments/deployments/report";
const HOSTS = "/app/deployments/deployments/plugin/tide/hosts";
const REPORTS = "/app/deployments/deployments/plugin/tide/reports";

const base = {
  kind: "plugin",
  slug: "tide",
  version: "1.0.0",
  status: "success",
  started_at: "2026-01-01T00:00:00+00:00",
  completed_at: "2026-01-01T00:00:05.123456+00:00",
};

const issue = async (hub: RunningHub, json: object): Promise<string> =>
  (await hub.call("POST", "/devkeys/api-keys", { json: { name: "k", ...json } })).body.key as string;

const report = (hub: RunningHub, changes: object = {}, key = hub.adminKey) =>
  hub.call("POST", REPORT, { json: { ...base, ...changes }, key });

t.test("a report answers 201 with the stored record", async (t) => {
  const hub = await startHub(t);
  const minimal = await report(hub, { repo: "", something_new: 1 });
  t.equal(minimal.status, 201);
  t.match(minimal.body, {
    ...base,
    id: /^dpl_/,
    deployer_id: "admin",
    host_id: "default",
    repo: null,
    error_message: null,
    created_at: /Z$/,
  });
  const full = await report(hub, { host_id: "web-1", repo: "a/b@v1", error_message: "no", status: "failed" });
  t.match(full.body, { host_id: "web-1", repo: "a/b@v1", error_message: "no", status: "failed" });
});

t.test("a host's record says what runs: as told, else what is known from before", async (t) => {
  const hub = await startHub(t);
  const running = async () => (await hub.call("GET", HOSTS, { key: hub.adminKey })).body["default"] as object;
  await report(hub, { status: "failed", version: "1.0.0" });
  t.notOk("running_version" in (await running()), "an old agent's first report failed: nobody knows");
  await report(hub, { version: "1.0.0" });
  t.match(await running(), { version: "1.0.0", running_version: "1.0.0" });
  await report(hub, { status: "failed", version: "1.1.0" });
  await report(hub, { status: "rolled_back", version: "1.2.0" });
  t.match(await running(), { version: "1.2.0", status: "rolled_back", running_version: "1.0.0" });
  await report(hub, { status: "failed", version: "1.3.0", running_version: "0.9.0" });
  t.match(await running(), { version: "1.3.0", running_version: "0.9.0" });
  await report(hub, { status: "failed", version: "1.3.0", running_version: null });
  t.match(await running(), { running_version: null });
  isErrorBody(t, await report(hub, { running_version: "x".repeat(129) }), 422, "unprocessable");
});

t.test("a host's record names the signer of what runs, as the report that told the version", async (t) => {
  const hub = await startHub(t);
  const signer = "a".repeat(64);
  const host = async () => (await hub.call("GET", HOSTS, { key: hub.adminKey })).body["default"] as object;
  await report(hub, { version: "1.0.0", running_version: "1.0.0", running_signer: signer });
  t.match(await host(), { running_version: "1.0.0", running_signer: signer });
  await report(hub, { status: "failed", version: "1.1.0" });
  t.match(await host(), { running_version: "1.0.0", running_signer: signer }, "nothing was told: it stays");
  await report(hub, { version: "1.2.0" });
  t.notOk("running_signer" in (await host()), "another version by an agent that tells no signer");
  await report(hub, { running_version: "1.0.0", running_signer: null });
  t.match(await host(), { running_signer: null }, "none was demanded");
  for (const unreadable of ["A".repeat(64), "a".repeat(63), 7, {}]) {
    const answer = await report(hub, { running_version: "1.0.0", running_signer: unreadable });
    t.equal(answer.status, 201, "the report counts");
    t.notOk("running_signer" in (await host()), JSON.stringify(unreadable));
  }
});

t.test("reports with unknown kinds, statuses or dates are refused", async (t) => {
  const hub = await startHub(t);
  for (const changes of [
    { kind: "robot" },
    { status: "done" },
    { started_at: "yesterday" },
    { completed_at: "2026-13-01T00:00:00Z" },
    { completed_at: undefined },
    { slug: "No Slug" },
    { slug: undefined },
    { version: "x".repeat(500) },
    { host_id: "a b" },
    { host_id: "" },
    { host_id: "." },
    { host_id: ".." },
    { error_message: "x".repeat(5000) },
    { version: "1.0.0\0" },
    { running_version: "1.0.0\0" },
  ]) {
    isErrorBody(t, await report(hub, changes), 422, "unprocessable");
  }
  isErrorBody(t, await report(hub, {}, await issue(hub, { scopes: ["read"] })), 403, "forbidden");
  isErrorBody(t, await report(hub, {}, "slk_bad"), 401, "key_rejected");
});

t.test("the fleet view is the owner's, whatever the key, and nobody else's", async (t) => {
  const hub = await startHub(t);
  const alice = await issue(hub, { owner: "alice" });
  const alicesOther = await issue(hub, { owner: "alice", scopes: ["read"] });
  const bob = await issue(hub, { owner: "bob" });
  await report(hub, { host_id: "b" }, alice);
  await report(hub, { host_id: "a", version: "1.0.0" }, alice);
  await report(hub, { host_id: "a", version: "2.0.0", status: "rolled_back" }, alice);
  await report(hub, { host_id: "bobs" }, bob);
  await report(hub, { host_id: "service", kind: "service" }, alice);
  const view = await hub.call("GET", HOSTS, { key: alicesOther });
  t.strictSame(Object.keys(view.body as object), ["a", "b"]);
  t.match(view.body["a"], {
    version: "2.0.0",
    status: "rolled_back",
    deployer_id: "alice",
    kind: "plugin",
    slug: "tide",
  });
  t.strictSame(Object.keys((await hub.call("GET", HOSTS, { key: bob })).body as object), ["bobs"]);
  isErrorBody(t, await hub.call("GET", HOSTS, { key: null }), 401, "key_missing");
  isErrorBody(t, await hub.call("GET", HOSTS.replace("plugin", "robot")), 422, "unprocessable");

  const etag = view.headers.get("etag") ?? "";
  t.equal((await hub.call("GET", HOSTS, { key: alice, headers: { "if-none-match": etag } })).status, 304);
  await report(hub, { host_id: "b", version: "2.0.0" }, alice);
  const since = await hub.call("GET", `${HOSTS}?since=${view.headers.get("x-cursor")}`, { key: alice });
  t.strictSame(Object.keys(since.body as object), ["b"]);
});

t.test("a fleet without reports is empty for a known target and missing for an unknown one", async (t) => {
  const hub = await startHub(t);
  isErrorBody(t, await hub.call("GET", HOSTS), 404, "not_found");
  await hub.call("POST", "/devkeys/projects", { json: { name: "T", kind: "plugin", slug: "tide" } });
  t.strictSame((await hub.call("GET", HOSTS)).body, {});
});

t.test("the history has filters and pages, newest first", async (t) => {
  let now = Date.parse("2026-03-01T00:00:00Z");
  const hub = await startHub(t, { clock: () => now });
  for (let i = 0; i < 6; i++) {
    now += 60_000;
    await report(hub, { host_id: `h${i % 2}`, version: `1.0.${i}`, status: i === 3 ? "failed" : "success" });
  }
  const versions = async (query: string) =>
    ((await hub.call("GET", `${REPORTS}?${query}`)).body.items as { version: string }[]).map(({ version }) =>
      version.at(-1),
    );
  t.strictSame(await versions(""), ["5", "4", "3", "2", "1", "0"]);
  t.strictSame(await versions("host_id=h1"), ["5", "3", "1"]);
  t.strictSame(await versions("status=failed"), ["3"]);
  t.strictSame(await versions("version=1.0.2"), ["2"]);
  t.strictSame(await versions("from=2026-03-01T01:03:00%2B01:00&to=2026-03-01T00:05:00Z"), ["3", "2"]);
  const first = await hub.call("GET", `${REPORTS}?limit=4`);
  const second = await hub.call("GET", `${REPORTS}?limit=4&cursor=${first.body.next}`);
  t.equal(first.body.items.length, 4);
  t.equal(second.body.items.length, 2);
  t.equal(second.body.next, null);
  isErrorBody(t, await hub.call("GET", `${REPORTS}?status=odd`), 422, "unprocessable");
  isErrorBody(t, await hub.call("GET", `${REPORTS}?from=monday`), 422, "unprocessable");
  const other = await issue(hub, { owner: "bob" });
  t.strictSame((await hub.call("GET", REPORTS, { key: other })).body, { items: [], next: null });
});

t.test("each host keeps a number of its reports, as many of its failures, and quotas count them", async (t) => {
  const hub = await startHub(t, { reportLimits: { reportsPerHost: 3 } });
  for (let minor = 0; minor < 6; minor++) {
    await report(hub, { host_id: "a", version: `1.${minor}.0` });
    await report(hub, { host_id: "b", version: `1.${minor}.0`, status: "failed", error_message: "é".repeat(100) });
  }
  await report(hub, { host_id: "a", version: "0.1.0", status: "rolled_back" });
  const database = await openDatabase({ hooks: FEATURES, dataDir: hub.dataDir });
  t.teardown(() => database.close());
  const { kysely: db } = database;
  const stored = async () => {
    const items = (await hub.call("GET", REPORTS)).body.items as { host_id: string; version: string; status: string }[];
    return items.map(({ host_id, version }) => `${host_id} ${version}`);
  };
  const bytes = async () => (await usageOf(db, "owner/admin")).bytes;
  const before = await bytes();
  t.ok(before > 13 * 200);
  const limits = { reportsPerHost: 3, keepReportsMs: 3_600_000, keepFailuresMs: 3_600_000 };
  const retention = { keep: 1, minAgeMs: 0, project: undefined, reportLimits: limits, onRemoved: () => {} };
  const due = await retainVersions({ hooks: FEATURES, dataDir: hub.dataDir }, { ...retention, dryRun: true });
  t.equal((await stored()).length, 13, "a dry run removes nothing");
  await hub.hub.upkeep.run();
  const kept = ["a 0.1.0", "b 1.5.0", "a 1.5.0", "b 1.4.0", "a 1.4.0", "b 1.3.0", "a 1.3.0"];
  t.strictSame((await stored()).sort(), kept.toSorted());
  t.match(due, { reports: 6, report_bytes: before - (await bytes()) });
  const old = { ...limits, keepReportsMs: -3_600_000 };
  t.match(
    await retainVersions({ hooks: FEATURES, dataDir: hub.dataDir }, { ...retention, reportLimits: old, dryRun: false }),
    { reports: 3 },
    "failures are kept for longer, and the newest of a host always",
  );
});

t.test("retention removes old reports, and never a host's newest one", async (t) => {
  const day = 86_400_000;
  let now = Date.parse("2026-03-01T00:00:00Z");
  const hub = await startHub(t, { clock: () => now });
  await report(hub, { host_id: "old", version: "1.0.0" });
  await report(hub, { host_id: "busy", version: "1.0.0" });
  now += 40 * day;
  await report(hub, { host_id: "busy", version: "2.0.0" });
  await hub.hub.close();
  const again = await startHub(t, {
    dataDir: hub.dataDir,
    clock: () => now,
    reportLimits: { keepReportsMs: 30 * day, keepFailuresMs: 30 * day },
  });
  await again.hub.upkeep.run();
  const database = await openDatabase({ hooks: FEATURES, dataDir: hub.dataDir });
  t.teardown(() => database.close());
  const since = new Date(now - 30 * day).toISOString();
  const rules = { perHost: 10, since, failuresSince: since };
  t.match(await removeReports(database.kysely, rules), { reports: 0 }, "the start did it");
  const history = await again.call("GET", REPORTS);
  t.strictSame(
    (history.body.items as { host_id: string; version: string }[]).map(({ host_id, version }) => [host_id, version]),
    [
      ["busy", "2.0.0"],
      ["old", "1.0.0"],
    ],
  );
  t.strictSame(Object.keys((await again.call("GET", HOSTS)).body as object), ["busy", "old"]);
});

t.test("a fleet of 20,000 hosts is read from the database only as fast as the client takes it", async (t) => {
  let pages = 0;
  const hub = await startHub(t, { onStatement: (text) => (pages += text.startsWith("SELECT host_id") ? 1 : 0) });
  const database = await openDatabase({ hooks: FEATURES, dataDir: hub.dataDir });
  t.teardown(() => database.close());
  const record = JSON.stringify({ ...base, error_message: "x".repeat(3000) });
  const hosts = Array.from({ length: 20_000 }, (_, index) => ({
    holder: "admin",
    target: "plugin/tide",
    host_id: `host-${String(index).padStart(6, "0")}`,
    change: index + 1,
    first_change: index + 1,
    is_bound: 0,
    report_id: `dpl_${index}`,
    record,
    ...{ state: "ok" as const, shown_version: "1.0.0", heard_at: new Date().toISOString() },
  }));
  await database.kysely.transaction().execute(async (transaction) => {
    await transaction
      .insertInto("views")
      .values({ holder: "admin", target: "plugin/tide", changes: 20_000, forgotten: 0, bytes: 0 })
      .execute();
    for (let start = 0; start < hosts.length; start += 1000) {
      await transaction
        .insertInto("hosts")
        .values(hosts.slice(start, start + 1000))
        .execute();
    }
  });
  const request = get(`${hub.url}${HOSTS}`, { headers: { "x-api-key": hub.adminKey } });
  const [response] = (await once(request, "response")) as [IncomingMessage];
  // The client takes nothing yet; what the sockets' buffers hold is far from the 60 MB of the view.
  await delay(400);
  t.ok(pages < 130, `${pages} of 200 pages`);
  let text = "";
  for await (const chunk of response) text += String(chunk);
  t.ok(pages >= 200);
  t.equal(Object.keys(JSON.parse(text) as object).length, 20_000);

  const since = await hub.call("GET", `${HOSTS}?since=19990`);
  t.equal(Object.keys(since.body as object).length, 10);
  const many = await hub.call("GET", `${HOSTS}?since=10000`);
  t.equal(Object.keys(many.body as object).length, 10_000);
  t.equal(Object.keys(many.body as object)[0], "host-010000");
});
