import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import t, { type Test } from "tap";
import { publicKey, rootChain } from "../../support/forged/roots.ts";
import { zipOf } from "../../support/hub/archives.ts";
import {
  createProject,
  isErrorBody,
  newSigner,
  type ProjectAccess,
  publication,
  type RunningHub,
  startHub,
} from "../../support/hub/harness.ts";
import { CHANGES, follow, followBoth, SHORT, startSecond } from "../../support/hub/hints.ts";
import { signatureOf } from "../../support/hub/marketplace-hub.ts";
import { startPostgresServer } from "../../support/hub/postgres-server.ts";
import { operatedFleet } from "../../support/hub/project-fleet.ts";
import { until } from "../../support/until.ts";

const POLL = "/app/deployments/v1/poll";

const publish = async (t: Test, project: ProjectAccess, version: string, signer: ReturnType<typeof newSigner>) =>
  t.equal((await project.publish(publication(version, { signer }))).status, 201);

/** Everything that changes an answer to "latest" is hinted, by each hub to its own streams. */
async function hintsOfAll(t: Test, first: RunningHub, second: Pick<RunningHub, "url">): Promise<void> {
  const project = await createProject(first, ["publish", "projects", "deploy", "report", "read"]);
  const other = await createProject(first);
  const signer = newSigner();
  const name = `project:${project.id}`;
  const { key } = project;
  const targets = [name, `project:${other.id}`];
  const { hinted, leave } = await followBoth(t, [first, second], { key, targets, name });
  await publish(t, project, "1.0.0", signer);
  await hinted("a publication");
  await publish(t, project, "2.0.0", signer);
  await hinted("another one");
  const at = `/devkeys/projects/${project.id}`;
  t.equal((await first.call("POST", `${at}/versions/2.0.0/yank`, { key, json: { reason: "bad" } })).status, 204);
  await hinted("a yank");
  t.equal((await first.call("DELETE", `${at}/versions/2.0.0/yank`, { key })).status, 204);
  await hinted("what takes it back");
  t.equal((await first.call("DELETE", `${at}/versions/2.0.0?reason=bad`, { key })).status, 204);
  await hinted("a deletion");

  const root = { root: rootChain().version(1, [publicKey(signer.publicKey)]), targets: [project.id] };
  t.equal((await first.call("POST", "/devkeys/roots", { json: root })).status, 201);
  await hinted("a trust root");
  t.equal((await first.call("DELETE", `${at}/root`, { key })).status, 204);
  await hinted("leaving it");

  await publish(t, other, "1.0.0", signer);
  await publish(t, project, "1.5.0", signer);
  await publish(t, project, "2.1.0", signer);
  await hinted("and not of others, nor of what is not news");
  leave();
}

t.test("streams tell agents to look whenever the latest version may have changed", async (t) => {
  const hub = await startHub(t);
  await hintsOfAll(t, hub, await startSecond(t, hub, `sqlite:${join(hub.dataDir, "hub.sqlite")}`));
});

t.test("two hubs of one PostgreSQL hint of what the other one did", async (t) => {
  const postgres = await startPostgresServer(t);
  if (postgres === undefined) return void t.plan(0, "PostgreSQL is not installed");
  const { url: databaseUrl } = postgres;
  const hub = await startHub(t, { databaseUrl });
  await hintsOfAll(t, hub, await startSecond(t, hub, databaseUrl));

  const project = await createProject(hub);
  const name = `project:${project.id}`;
  const stream = await follow(t, hub, project.key, [name]);
  await stream.next(0);
  const listening = "FROM pg_stat_activity WHERE application_name = 'sealift-hub-changes'";
  await postgres.run(`SELECT pg_terminate_backend(pid) ${listening}`);
  t.strictSame((await stream.next(1)).targets, [name], "after a lost connection everybody is told to look");
  await publish(t, project, "1.0.0", newSigner());
  t.strictSame((await stream.next(2)).targets, [name], "and it listens again");
});

const QUICK = { ...SHORT, stuckMs: 300 };

/** A plugin with its first version. */
async function createPlugin(t: Test, hub: RunningHub, slug: string, visibility: "public" | "private") {
  await hub.call("POST", "/devkeys/projects", { json: { name: slug, kind: "plugin", slug } });
  const publishPlugin = async (version: string): Promise<void> => {
    const archive = zipOf({ "plugin.js": version });
    const form = new FormData();
    form.set("version", version);
    form.set("signature", signatureOf(archive));
    form.set("visibility", visibility);
    form.set("archive", new Blob([new Uint8Array(archive)], { type: "application/zip" }), "archive.zip");
    const answer = await hub.call("POST", `/app/marketplace/plugins/${slug}/versions`, { form });
    t.equal(answer.status, 201, JSON.stringify(answer.body));
  };
  await publishPlugin("1.0.0");
  return publishPlugin;
}

/** A key of an owner, with its id. */
async function keyOf(hub: RunningHub, owner: string, scopes: string[]): Promise<{ id: string; key: string }> {
  const { body } = await hub.call("POST", "/devkeys/api-keys", { json: { name: owner, owner, scopes } });
  return body as { id: string; key: string };
}

t.test("streams and polls show no more than the calls for the latest version do", async (t) => {
  const hub = await startHub(t, { hintTimes: QUICK, checkArchive: async () => ({ description: null }) });
  const project = await createProject(hub);
  const hidden = await createPlugin(t, hub, "hidden", "private");
  const open = await createPlugin(t, hub, "open", "public");
  const stranger = await keyOf(hub, "stranger", ["deploy", "read"]);
  const reporter = await keyOf(hub, "stranger", ["report"]);
  const all = [`project:${project.id}`, "plugin:hidden", "plugin:open", "plugin:missing", "service:open"];

  const at = (targets: string): string => `${CHANGES}?targets=${targets}`;
  isErrorBody(t, await hub.call("GET", at("plugin:open"), { key: null }), 401, "key_missing");
  isErrorBody(t, await hub.call("GET", at("plugin:open"), { key: "slk_no-key-of-anybody" }), 401, "key_rejected");
  isErrorBody(t, await hub.call("GET", at("plugin:open"), { key: reporter.key }), 403, "forbidden");
  for (const nothing of ["plugin:hidden", "plugin:missing", `project:${project.id}`])
    isErrorBody(t, await hub.call("GET", at(nothing), stranger), 404, "not_found");
  for (const bad of [
    "",
    "plugin:",
    "../x",
    "plugin:a,",
    Array.from({ length: 201 }, (_, n) => `plugin:p${n}`).join(","),
  ])
    isErrorBody(t, await hub.call("GET", at(bad), stranger), 422, "unprocessable");
  const head = await hub.call("HEAD", at("plugin:open"), stranger);
  t.equal(head.status, 200);

  const stream = await follow(t, hub, stranger.key, all);
  t.strictSame((await stream.next(0)).targets, ["plugin:open"]);
  await hidden("2.0.0");
  await open("2.0.0");
  await stream.next(1);
  t.ok(
    stream.hints.every(({ targets }) => targets.join() === "plugin:open"),
    "nothing of what is hidden",
  );
  const granted = await hub.call("POST", "/app/marketplace/plugins/hidden/grants", { json: { owner: "stranger" } });
  t.ok(granted.status < 300, `granted with ${granted.status}`);
  for (let count = 1; !(await stream.next(count)).targets.includes("plugin:hidden");) count++;
  t.pass("what becomes visible is told soon");

  const ask = (targets: object[], key: string | null = stranger.key) =>
    hub.call("POST", POLL, { key, json: { targets } });
  isErrorBody(t, await ask([{ target: "plugin:open", etag: null }], null), 401, "key_missing");
  isErrorBody(t, await ask([]), 422, "unprocessable");
  isErrorBody(
    t,
    await ask(Array.from({ length: 201 }, () => ({ target: "plugin:open", etag: null }))),
    422,
    "unprocessable",
  );
  const etag = (await hub.call("GET", "/app/marketplace/plugins/open", stranger)).headers.get("etag");
  const some = [...all.map((target) => ({ target, etag: null })), { target: "plugin:open", etag }];
  t.strictSame((await ask(some)).body, {
    targets: [
      { target: "plugin:hidden", changed: true },
      { target: "plugin:open", changed: true },
      { target: "plugin:open", changed: false },
    ],
  });
  const mine = [{ target: `project:${project.id}`, etag: null }];
  t.strictSame((await ask(mine, project.key)).body, { targets: [{ target: mine[0]!.target, changed: false }] });
  await project.publish(publication("1.0.0"));
  t.match((await ask(mine, project.key)).body, { targets: [{ changed: true }] });
  t.match((await ask([{ ...mine[0], etag: '"1.0.0"' }], project.key)).body, { targets: [{ changed: false }] });

  t.equal((await hub.call("DELETE", `/devkeys/api-keys/${stranger.id}`)).status, 204);
  await stream.ended;
  t.pass("the stream of a revoked key ends");
  isErrorBody(t, await hub.call("GET", at("plugin:open"), stranger), 401, "key_rejected");
});

t.test("a target that is gone is hinted, while others of the stream are there", async (t) => {
  const hub = await startHub(t, { hintTimes: QUICK });
  const [stays, goes] = [await createProject(hub), await createProject(hub)];
  const names = [stays, goes].map(({ id }) => `project:${id}`);
  const stream = await follow(t, hub, hub.adminKey, names);
  t.strictSame((await stream.next(0)).targets, names);
  const path = `/devkeys/projects/${goes.id}`;
  t.match(await hub.call("DELETE", path), { status: 200 });
  t.strictSame((await stream.next(1)).targets, [names[1]]);
  const looked = stream.comments() + 6;
  await until(() => stream.comments() > looked);
  t.equal(stream.hints.length, 2, "once");
});

t.test("a stream that comes back hears of what it missed, and of no more", async (t) => {
  const hub = await startHub(t, { hintTimes: QUICK });
  const project = await createProject(hub);
  const name = `project:${project.id}`;
  const signer = newSigner();
  const first = await follow(t, hub, project.key, [name]);
  const begun = await first.next(0);
  await publish(t, project, "1.0.0", signer);
  const later = await first.next(1);
  first.leave();
  const same = await follow(t, hub, project.key, [name], later.id);
  await same.quiet();
  t.strictSame(same.hints, []);
  const behind = await follow(t, hub, project.key, [name], begun.id);
  t.strictSame((await behind.next(0)).targets, [name]);
  for (const unknown of ["00000000-1", "nonsense", `${later.id}9`]) {
    const foreign = await follow(t, hub, project.key, [name], unknown);
    t.strictSame((await foreign.next(0)).targets, [name], `of ${unknown} this hub knows nothing`);
    foreign.leave();
  }
});

t.test("comments show that a stream is alive, and a hub that closes ends it at once", async (t) => {
  const hub = await startHub(t, { hintTimes: QUICK, drainTimeoutMs: 10_000 });
  const project = await createProject(hub);
  const stream = await follow(t, hub, project.key, [`project:${project.id}`]);
  await stream.quiet();
  const started = performance.now();
  await hub.hub.close();
  await stream.ended;
  t.ok(performance.now() - started < 3000);
});

t.test("a client chooses the beat of its stream, within limits", async (t) => {
  // A second is a hundredth of one here.
  const hub = await startHub(t, { hintTimes: { beatMs: 150 } });
  const project = await createProject(hub);
  const target = [`project:${project.id}`];
  const counts = new Map<string, number>();
  for (const beat of ["none", "15", "55", "56", "0", "14", "1e1", "50, 15"]) {
    const stream = await follow(
      t,
      hub,
      project.key,
      target,
      undefined,
      beat === "none" ? {} : { "x-sealift-beat": beat },
    );
    const granted = beat === "15" || beat === "55" ? beat : null;
    t.equal(stream.headers.get("x-sealift-beat"), granted, `${beat} is answered`);
    if (beat !== "none" && granted === null) continue;
    await stream.next(0);
    const before = stream.comments();
    await sleep(1_650);
    counts.set(beat, stream.comments() - before);
    stream.leave();
  }
  t.ok(counts.get("none")! >= 6 && counts.get("15")! >= 6, JSON.stringify([...counts]));
  t.ok(counts.get("55")! >= 1 && counts.get("55")! <= 4, JSON.stringify([...counts]));
});

t.test("a stream is a sign of life of the host that it names, and of no other one", async (t) => {
  let now = Date.now();
  const hub = await startHub(t, { hintTimes: QUICK, clock: () => now });
  const fleet = await operatedFleet(hub);
  await fleet.publish("1.0.0");
  for (const host of ["pier-7", "pier-8"]) await fleet.report(host, "1.0.0");
  const { key } = fleet;
  const target = `project:${fleet.project.id}`;
  const stream = await follow(t, hub, key, [target], undefined, { "x-sealift-host": "pier-7" });
  await stream.next(0);
  const seen = async (host: string): Promise<number> => {
    const { body } = await hub.call("GET", `/app/deploy/v1/projects/${fleet.project.id}/hosts/${host}`, { key });
    return Date.parse((body as { seen_at: string }).seen_at);
  };
  now += 2 * 3600 * 1000;
  // Its rights are looked at again; notes of hosts are written every 30 seconds, or when the hub ends.
  const before = stream.comments();
  await until(() => stream.comments() > before + 6);
  await hub.hub.close();
  const again = await startHub(t, { dataDir: hub.dataDir, clock: () => now });
  Object.assign(hub, again);
  t.equal(await seen("pier-7"), now);
  t.equal(await seen("pier-8"), now - 2 * 3600 * 1000);
});

for (const dialect of ["sqlite", "postgres"] as const)
  t.test(`labels that an owner gives a host are hinted: another wave may be its own (${dialect})`, async (t) => {
    const postgres = dialect === "postgres" ? await startPostgresServer(t) : undefined;
    if (dialect === "postgres" && postgres === undefined) return void t.plan(0, "PostgreSQL is not installed");
    const hub = await startHub(t, postgres && { databaseUrl: postgres.url });
    const fleet = await operatedFleet(hub);
    await fleet.publish("1.0.0");
    await fleet.report("pier-7", "1.0.0");
    const stream = await follow(t, hub, fleet.key, [`project:${fleet.project.id}`]);
    await stream.next(0);
    const path = `/devkeys/projects/${fleet.project.id}/hosts/pier-7/labels`;
    const { length } = stream.hints;
    t.match(await hub.call("PUT", path, { key: fleet.key, json: { labels: { env: "prod" } } }), { status: 204 });
    await stream.next(length);
  });
