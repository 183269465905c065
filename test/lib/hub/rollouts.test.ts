/* oxlint-disable typescript/no-unsafe-argument -- answers are JSON of any shape */
/* oxlint-disable typescript/no-unsafe-call -- answers are JSON of any shape */
/* oxlint-disable typescript/no-unsafe-return -- answers are JSON of any shape */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import t, { type Test } from "tap";
import { createHub } from "../../../lib/hub/hub.ts";
import { hmacOf, zipOf } from "../../support/hub/archives.ts";
import {
  type Answer,
  createProject,
  hubAt,
  isErrorBody,
  newSigner,
  publication,
  type RunningHub,
  startHub,
} from "../../support/hub/harness.ts";
import { startPostgres } from "../../support/hub/postgres-server.ts";
import { FLEET_SCOPES, fleetOf, until } from "../../support/hub/project-fleet.ts";
import { QUICK } from "../../support/hub/rollouts.ts";

/** Waves open by reports; a failure halts, those who took it go back, and nobody else gets it. */
async function rollsOut(t: Test, hub: RunningHub): Promise<void> {
  const project = await createProject(hub, FLEET_SCOPES);
  const signer = newSigner();
  await project.publish(publication("1.0.0", { signer }));
  const fleet = await fleetOf(hub, project);
  for (const host of ["a", "b", "c"])
    await fleet.report(host, "1.0.0", host === "a" ? { labels: { env: "canary" } } : {});
  const before = await fleet.latest("a");
  t.equal(before.headers.get("etag"), `"1.0.0"`);

  const waves = ["env=canary", "50%", "100%"];
  const started = await fleet.start({ version: "2.0.0", waves, on_halt: "rollback", ...QUICK });
  t.match(started, { status: 201, body: { state: "running", base_version: "1.0.0", open: 0, rules: { waves } } });
  const { id } = started.body;
  t.match(
    await until(
      () => fleet.show(id),
      ({ waiting_for }) => waiting_for !== null,
    ),
    { waiting_for: "publication" },
  );
  await project.publish(publication("2.0.0", { signer }));
  t.match(await fleet.show(id), {
    open: 1,
    waiting_for: "hosts",
    waves: [{ wave: "env=canary", hosts: 1, done: 0 }, {}, {}],
  });

  t.equal((await fleet.latest("a")).body.version, "2.0.0", "by the labels of its report, as soon as it is published");
  const cached = await fleet.latest("b", { "if-none-match": `"1.0.0"` });
  t.equal(cached.status, 304, "for the others nothing has changed");
  t.equal(
    (await fleet.latest("b", { "x-sealift-labels": "env=canary" })).body.version,
    "2.0.0",
    "a label chooses a wave",
  );
  t.equal((await fleet.latest()).body.version, "1.0.0", "no name, last wave");
  t.equal(
    (
      await hub.call("GET", `/app/deploy/v1/projects/${project.id}/versions/latest`, {
        ...{ key: null, headers: { "x-sealift-host": "a" } },
      })
    ).status,
    401,
    "and a name is not a right",
  );

  await fleet.report("a", "2.0.0", { labels: { env: "canary" } });
  const second = await until(
    () => fleet.show(id),
    ({ open }) => open === 2,
  );
  t.match(second.waves[0], { hosts: 1, done: 1, failing: 0 });
  const held = (await fleet.latest("b")).body.version === "2.0.0" ? "b" : "c";
  for (let time = 0; time < 3; time++)
    await fleet.report(held, "2.0.0", { status: "failed", running_version: "1.0.0", error_message: "port taken" });
  const halted = await until(
    () => fleet.show(id),
    ({ state }) => state === "halted",
  );
  t.match(halted, {
    state: "halted",
    reason: /failed on 1 host/,
    failing: [{ host_id: held, error_message: "port taken" }],
  });
  const back = { version: "1.0.0", withdrawn: "2.0.0" };
  t.strictSame((await fleet.latest("a")).body, back);
  t.strictSame((await fleet.latest("lost")).body, { version: "1.0.0" });
  const says = { "x-sealift-running": "2.0.0" };
  t.strictSame((await fleet.latest("lost", says)).body, back, "and one whose report was lost, by what it says");
  isErrorBody(t, await fleet.act(id, "approve"), 409, "conflict");

  t.match((await fleet.act(id, "resume")).body, { state: "running", open: 2 });
  t.equal((await fleet.latest("a")).body.version, "2.0.0", "a person brings it on, and it is offered again");
  await sleep(50);
  t.match(await fleet.show(id), { state: "running" }, "failures that were seen do not count again");
  t.match((await fleet.act(id, "pause", { reason: "lunch" })).body, { state: "paused", reason: "lunch" });
  t.equal((await fleet.latest(held)).body.version, "1.0.0");
  t.equal((await fleet.latest("a")).body.version, "2.0.0", "and who runs it hears of no other");
  isErrorBody(t, await fleet.act(id, "pause"), 409, "conflict");

  isErrorBody(t, await fleet.start({ version: "2.0.1" }), 409, "conflict");
  isErrorBody(t, await fleet.start({ version: "2.0.1", replace: "rol_other" }), 409, "conflict");
  const replaced = await fleet.start({ version: "2.0.1", replace: id, waves: ["100%"], ...QUICK, min_done: "0" });
  t.match(replaced.body, { state: "running", base_version: "1.0.0" }, "what is held is not a version to fall back to");
  t.match(await fleet.show(id), { state: "replaced" });
  t.equal((await fleet.latest()).body.version, "1.0.0");
  await project.publish(publication("2.0.1", { signer }));
  t.match(await fleet.show(replaced.body.id), { open: 1, waiting_for: "hosts" }, "nothing completes before a host");
  await fleet.report("a", "2.0.1", { labels: { env: "canary" } });
  t.match(
    await until(
      () => fleet.show(replaced.body.id),
      ({ state }) => state === "completed",
    ),
    { state: "completed" },
  );
  const last = await fleet.latest();
  t.match([last.body, last.headers.get("etag")], [{ version: "2.0.1" }, `"2.0.1"`]);
  isErrorBody(t, await fleet.act(replaced.body.id, "pause"), 409, "conflict");
  const listed = await hub.call("GET", `${fleet.at}?limit=1`, { key: project.key });
  t.match(listed.body, { items: [{ id: replaced.body.id }], next: replaced.body.id });

  const actions = (await hub.call("GET", "/devkeys/audit?limit=200")).body.items
    .filter(({ subject }: { subject: string }) => subject === project.id)
    .map(({ action, actor }: { action: string; actor: string }) => `${action} ${actor === "hub" ? "hub" : "person"}`);
  for (const action of ["start person", "open hub", "halt hub", "resume person", "replace person", "complete hub"])
    t.ok(actions.includes(`rollout.${action}`), action);
}

t.test("waves open by reports, a failure halts them, and those who took the version go back", async (t) => {
  await rollsOut(t, await startHub(t));
});

t.test("the same on PostgreSQL, where a second hub goes on with what the first one began", async (t) => {
  const databaseUrl = await startPostgres(t);
  if (databaseUrl === undefined) return void t.plan(0, "PostgreSQL is not installed");
  const first = await startHub(t, { databaseUrl });
  await rollsOut(t, first);

  const project = await createProject(first, FLEET_SCOPES);
  await project.publish(publication("1.0.0"));
  await project.publish(publication("2.0.0"));
  const second = await createHub({
    ...{ dataDir: join(first.dataDir, "second"), databaseUrl, listen: { host: "127.0.0.1", port: 0 } },
    ...{ keks: { file: join(first.dataDir, "kek.json") }, blobUrl: join(first.dataDir, "blobs") },
  });
  t.teardown(() => second.close());
  const canary = { labels: { env: "canary" } };
  const both = await fleetOf(first, project);
  await both.report("a", "1.0.0", canary);
  await both.report("b", "1.0.0");
  const { id } = (await both.start({ version: "2.0.0", waves: ["env=canary", "100%"], ...QUICK })).body;
  t.match(await until(() => both.show(id), isOpen(1)), { open: 1 });
  const url = await second.listen();
  const bearer = await project.session();
  await first.hub.close();
  const other = await fleetOf({ ...first, ...hubAt(url, first.adminKey) }, { ...project, session: async () => bearer });
  t.equal((await other.latest("b")).body.version, "1.0.0");
  await other.report("a", "2.0.0", { ...canary, deployment_id: "on the second hub" });
  const opened = await until(() => other.show(id), isOpen(2));
  t.match(opened, { state: "running", open: 2, waves: [{ done: 1 }, { hosts: 1 }] });
});

const isOpen =
  (waves: number) =>
  ({ open }: { open: number }): boolean =>
    open === waves;

t.test(
  "a version that is yanked in the middle halts; an aborted one is kept back until the fix is there",
  async (t) => {
    const hub = await startHub(t);
    const project = await createProject(hub, FLEET_SCOPES);
    const fleet = await fleetOf(hub, project);
    await project.publish(publication("1.0.0"));
    await project.publish(publication("2.0.0"));
    await fleet.report("a", "1.0.0");
    const { id } = (await fleet.start({ version: "2.0.0", waves: ["100%"] })).body;
    t.equal((await fleet.latest("a")).body.version, "2.0.0");
    const yank = `/devkeys/projects/${project.id}/versions/2.0.0/yank`;
    await hub.call("POST", yank);
    t.match(await fleet.show(id), { state: "halted", reason: /yanked/ }, "with the answer");
    t.equal((await fleet.latest("a")).body.version, "1.0.0");
    await fleet.report("a", "2.0.0");
    await hub.call("DELETE", yank);
    t.match((await fleet.act(id, "abort", { reason: "bad", rollback: true })).body, {
      state: "aborted",
      reason: "bad",
    });
    t.strictSame((await fleet.latest("a")).body, { version: "1.0.0", withdrawn: "2.0.0" });
    t.equal((await fleet.latest("b")).body.version, "1.0.0", "not even for those who never had it");
    await project.publish(publication("2.0.1"));
    t.strictSame((await fleet.latest("a")).body, { version: "2.0.1" });
  },
);

for (const isHalt of [false, true])
  t.test(
    `a version taken back ${isHalt ? "by its yank" : "by a person"} stays so when it is yanked and deleted`,
    async (t) => {
      const hub = await startHub(t);
      const project = await createProject(hub, FLEET_SCOPES);
      const fleet = await fleetOf(hub, project);
      await project.publish(publication("1.0.0"));
      await fleet.report("canary", "1.0.0");
      const onHalt = isHalt ? "rollback" : "stop";
      const { id } = (await fleet.start({ version: "2.0.0", waves: ["100%"], on_halt: onHalt, ...QUICK })).body;
      await project.publish(publication("2.0.0"));
      await fleet.report("canary", "2.0.0");
      if (!isHalt) await fleet.act(id, "abort", { rollback: true });
      const versions = `/devkeys/projects/${project.id}/versions`;
      await hub.call("POST", `${versions}/2.0.0/yank`);
      const wanted = { version: "1.0.0", withdrawn: "2.0.0" };
      t.strictSame((await fleet.latest("canary")).body, wanted, "yanked");
      if (isHalt) await fleet.act(id, "abort");
      await project.publish(publication("1.1.0"));
      await hub.call("POST", `${versions}/1.1.0/release`);
      t.strictSame((await fleet.latest("canary")).body, { ...wanted, version: "1.1.0" }, "beside a hotfix");
      t.equal((await hub.call("DELETE", `${versions}/2.0.0?reason=bad`)).status, 204);
      t.strictSame((await fleet.latest("canary")).body, { ...wanted, version: "1.1.0" }, "deleted");
      await fleet.report("canary", "1.0.0");
      t.strictSame((await fleet.latest("canary")).body, { version: "1.1.0" }, "a host that has gone back goes up");
      await project.publish(publication("2.0.1"));
      const says = { "x-sealift-running": "2.0.0" };
      t.strictSame((await fleet.latest("lost", says)).body, { version: "2.0.1" }, "up rather than back");
    },
  );

t.test(
  "rollouts of plugins are told in the detail record and by install, and count the owner's own fleet only",
  async (t) => {
    const hub = await startHub(t);
    const target = (
      await hub.call("POST", "/devkeys/projects", { json: { name: "Tide", kind: "plugin", slug: "tide" } })
    ).body;
    const publish = (version: string) => {
      const archive = zipOf({ "plugin.yaml": `name: tide\nversion: ${version}\n` });
      const form = new FormData();
      form.set("version", version);
      form.set("signature", hmacOf(archive, "s"));
      form.set("archive", new Blob([new Uint8Array(archive)]), "archive.zip");
      return hub.call("POST", "/app/marketplace/plugins/tide/versions", { form });
    };
    const report = (host: string, given: object, as?: string) =>
      hub.call("POST", "/app/deployments/deployments/report", {
        ...(as !== undefined && { key: as }),
        headers: { "x-sealift-host": host },
        json: {
          ...{ kind: "plugin", slug: "tide", version: "2.0.0", status: "success", host_id: host },
          ...{ started_at: "2026-01-01T00:00:00Z", completed_at: "2026-01-01T00:00:01Z", ...given },
        },
      });
    await publish("1.0.0");
    // The first wave has a host to wait for: an empty one would let the next wave open.
    await report("a", { version: "1.0.0", labels: { env: "canary" } });
    const at = `/devkeys/projects/${target.id}/rollouts`;
    const waves = ["env=canary", "100%"];
    const { id } = (
      await hub.call("POST", at, { json: { version: "2.0.0", waves, ...QUICK, window: "Mon-Sun 00:00-24:00 UTC" } })
    ).body;
    await publish("2.0.0");
    const detail = (headers: Record<string, string>, key?: null) =>
      hub.call("GET", "/app/marketplace/plugins/tide", { headers, ...(key === null && { key }) });
    const canary = { "x-sealift-host": "a", "x-sealift-labels": "env=canary" };
    const theirs = await until(
      () => detail(canary),
      ({ body }) => body.latest_version === "2.0.0",
    );
    t.match(theirs, { body: { latest_version: "2.0.0", versions: [{ version: "2.0.0" }, { version: "1.0.0" }] } });
    t.match(theirs.headers.get("vary"), /X-Sealift-Host/);
    const others = await detail({}, null);
    t.equal(others.body.latest_version, "1.0.0");
    t.not(others.headers.get("etag"), theirs.headers.get("etag"));
    t.equal((await detail({ "if-none-match": others.headers.get("etag")! })).status, 304);
    const installed = async (headers: Record<string, string>) =>
      (await hub.call("GET", "/app/marketplace/plugins/tide/install", { headers })).headers.get("x-plugin");
    t.strictSame([await installed({}), await installed(canary)], ["tide@1.0.0", "tide@2.0.0"]);

    const key = (
      await hub.call("POST", "/devkeys/api-keys", { json: { name: "o", owner: "other", scopes: FLEET_SCOPES } })
    ).body.key;
    for (let host = 0; host < 5; host++) t.equal((await report(`h${host}`, { status: "failed" }, key)).status, 201);
    await report("a", { labels: { env: "canary" } });
    const show = async () => (await hub.call("GET", `${at}/${id}`)).body;
    const counted = await until(show, ({ waves: [first] }) => first.done === 1);
    t.match(counted, {
      waves: [
        { hosts: 1, done: 1, failing: 0 },
        { hosts: 0, failing: 0 },
      ],
    });
    for (const path of [at, `${at}/${id}`]) isErrorBody(t, await hub.call("GET", path, { key }), 404, "not_found");
    isErrorBody(t, await hub.call("POST", `${at}/${id}/abort`, { key, json: {} }), 404, "not_found");

    const labels = (host: string, json: object, as?: string) =>
      hub.call("PUT", `/devkeys/projects/${target.id}/hosts/${host}/labels`, {
        json,
        ...(as !== undefined && { key: as }),
      });
    isErrorBody(t, await labels("a", { labels: { env: "prod" } }, key), 404, "not_found");
    isErrorBody(t, await labels("nobody", { labels: {} }), 404, "not_found");
    isErrorBody(t, await labels("a", { labels: { "no name": "x" } }), 422, "unprocessable");
    t.equal((await labels("a", { labels: { env: "prod" } })).status, 204);
    const hosts = "/app/deployments/deployments/plugin/tide/hosts";
    t.match((await hub.call("GET", hosts)).body, { a: { labels: { env: "prod" } } });
    await report("a", { labels: { env: "canary" } });
    t.match((await hub.call("GET", hosts)).body, { a: { labels: { env: "prod" } } }, "the hub's labels stay");
    t.equal((await labels("a", { labels: null })).status, 204);
    t.match((await hub.call("GET", hosts)).body, { a: { labels: { env: "canary" } } });
  },
);

t.test("rollouts with faults are refused, and say what is wrong", async (t) => {
  const hub = await startHub(t);
  const project = await createProject(hub, FLEET_SCOPES);
  const fleet = await fleetOf(hub, project);
  await project.publish(publication("2.0.0"));
  const start = (json: object): Promise<Answer> => fleet.start({ version: "3.0.0", ...json });
  for (const [json, message] of [
    [{ waves: ["50%"] }, /waves.*rise to 100%/],
    [{ waves: [] }, /waves/],
    [{ window: "Mon 09:00-09:00 UTC" }, /window: .*never opens/],
    [{ window: "Mon 09:00-10:00 Mars/Olympus" }, /time zone/],
    [{ max_failing: "101%" }, /max_failing/],
    [{ soak_seconds: -1 }, /soak_seconds/],
    [{ on_halt: "explode" }, /on_halt/],
    [{ color: "red" }, /color/],
  ] as const) {
    const answer = await start(json);
    isErrorBody(t, answer, 422, "unprocessable");
    t.match(answer.body.error, message);
  }
  isErrorBody(t, await start({ version: "1.0.0" }), 409, "conflict");
  isErrorBody(t, await start({ version: "3.0.0-rc.1" }), 409, "conflict");
  isErrorBody(t, await start({ replace: "rol_none" }), 404, "not_found");
  isErrorBody(t, await hub.call("POST", fleet.at, { key: null, json: { version: "3.0.0" } }), 401, "key_missing");
  isErrorBody(t, await hub.call("GET", `${fleet.at}/rol_none`), 404, "not_found");
  t.equal((await hub.call("GET", fleet.at)).body.items.length, 0, "nothing was started");
});
