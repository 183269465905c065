import t from "tap";
import { HELD_POLICY, HELD_RIGHTS } from "../../../lib/contract/blame.ts";
import { FEATURES } from "../../../lib/hub/features.ts";
import { openDatabase } from "../../../lib/hub/records/database.ts";
import { createProject, startHub } from "../../support/hub/harness.ts";
import { FLEET_SCOPES, fleetOf } from "../../support/hub/project-fleet.ts";
import { report } from "../../support/hub/shown-hub.ts";
import { Visitor } from "../../support/hub/web.ts";

t.test("a fleet shows failing hosts first, and how many there are", async (t) => {
  const hub = await startHub(t);
  await hub.call("POST", "/devkeys/projects", { json: { name: "Berth board", kind: "plugin", slug: "berth-board" } });
  const of = { slug: "berth-board", version: "1.0.0" };
  const name = (index: number) => `berth-${String(index).padStart(3, "0")}`;
  const went = { version: "1.1.0", running: "1.0.0" };
  for (let index = 0; index < 210; index++) {
    const fails = index % 7 === 3 && { ...went, status: "rolled_back" as const };
    await report(hub, { ...of, host: name(index), ...fails });
  }
  await report(hub, { ...of, ...went, host: "asks", status: "failed", error: `${HELD_RIGHTS}network: all` });
  await report(hub, { ...of, ...went, host: "guards", status: "failed", error: `${HELD_POLICY}no SBOM` });

  const admin = await new Visitor(hub.url).signIn(hub.adminKey);
  const path = "/plugins/berth-board/fleet";
  const read = async (after: string): Promise<string[]> => {
    const { html } = await admin.request(`${path}?after=${encodeURIComponent(after)}`);
    const next = /after=([^"&]+)"[^>]*>Next page/.exec(html)?.[1];
    const rows = [...html.matchAll(/fleet\/(berth-\d+|asks|guards)"/g)].map(([, host]) => host!);
    return next === undefined ? rows : [...rows, ...(await read(decodeURIComponent(next)))];
  };
  const all = Array.from({ length: 210 }, (_, index) => index);
  const failing = all.filter((index) => index % 7 === 3).map(name);
  const others = all.filter((index) => index % 7 !== 3).map(name);
  t.strictSame(await read(""), [...failing, "asks", "guards", ...others], "each once, page by page");
  t.strictSame(await read("none:such"), await read(""), "an odd cursor begins anew");

  const { html } = await admin.request(path);
  t.match(html, /212<\/span> hosts <span class="badge bad">30 failing<.*>2 waiting</);
  t.match(html, "Hosts by version: 182 on 1.0.0, 30 on 1.0.0 (host failing)");
  t.match(html, /asks<\/a>.+waiting for consent to rights.+guards<\/a>.+held by policy/s);
  t.match((await admin.request(`${path}/guards`)).html, "held by policy");
  t.match(html, /href="[^"]*state=failed[^"]*">1\.0\.0 \(host failing\)</);
  t.match((await admin.request("/fleets")).html, "30 failing");
});

t.test("the page of a project's host shows the plugins of its last report, and who signed what runs", async (t) => {
  const hub = await startHub(t);
  const project = await createProject(hub, FLEET_SCOPES);
  const fleet = await fleetOf(hub, project);
  const signer = "ab".repeat(32);
  const plugins = [{ id: "tide-table", version: "2.7.1" }];
  await fleet.report("web", "1.0.0", { plugins, running_signer: signer });
  const visitor = await new Visitor(hub.url).signIn(project.key);
  const { html } = await visitor.request(`/projects/${project.id}/fleet/web`);
  t.match(html, /tide-table <span class="num">2\.7\.1</);
  t.match(html, `Ed25519: ${signer}`);
  await fleet.report("web", "1.0.0", { plugins, running_signer: null });
  const unsigned = await visitor.request(`/projects/${project.id}/fleet/web`);
  t.notMatch(unsigned.html, /Signed by|Ed25519/, "nobody's signature was demanded");
});

t.test("a page of a large fleet asks for one screen of it", async (t) => {
  const asked: string[] = [];
  const hub = await startHub(t, { onStatement: (text) => asked.push(text) });
  const database = await openDatabase({ hooks: FEATURES, dataDir: hub.dataDir });
  t.teardown(() => database.close());
  const at = new Date().toISOString();
  const count = 21_000;
  const times = { error_message: null, completed_at: at, created_at: at };
  const record = JSON.stringify({ version: "1.0.0", status: "success", ...times });
  const of = { holder: "admin", target: "plugin/large" };
  await database.kysely.transaction().execute(async (transaction) => {
    const view = { ...of, changes: count, forgotten: 0, bytes: 0 };
    await transaction.insertInto("views").values(view).execute();
    for (let start = 0; start < count; start += 1000) {
      const hosts = Array.from({ length: 1000 }, (_, index) => ({
        ...{ ...of, host_id: `host-${String(start + index).padStart(6, "0")}`, change: start + index + 1 },
        ...{
          first_change: 1,
          is_bound: 0,
          report_id: "dpl_1",
          record,
          state: "ok" as const,
          shown_version: "1.0.0",
          heard_at: at,
        },
      }));
      await transaction.insertInto("hosts").values(hosts).execute();
    }
  });
  await hub.call("POST", "/devkeys/projects", { json: { name: "Large", kind: "plugin", slug: "large" } });
  const admin = await new Visitor(hub.url).signIn(hub.adminKey);
  asked.length = 0;
  const { html } = await admin.request("/plugins/large/fleet");
  t.match(html, /21000<\/span> hosts/);
  t.equal(html.match(/fleet\/host-\d+"/g)!.length, 100);
  const records = asked.filter((text) => /\brecord\b[^]*FROM hosts/.test(text));
  t.ok(records.length > 0 && records.length <= 4, `${records.length} statements read records`);
  for (const text of records) t.match(text, /LIMIT \?$/, "a screen at a time");

  const fail = async (before: string) =>
    database.kysely.updateTable("hosts").set({ state: "failed" }).where("host_id", "<", before).execute();
  await fail("host-000007");
  t.match((await admin.request("/fleets")).html, /21000<\/span> hosts <span class="badge bad">7 failing</);
  await fail("host-000150");
  t.match((await admin.request("/fleets")).html.replaceAll("<!-- -->", ""), "more than 100 failing");
});

t.test("the pages of a fleet and a host say since when it is unhealthy", async (t) => {
  const hub = await startHub(t);
  const fleet = await fleetOf(hub, await createProject(hub, FLEET_SCOPES));
  const since = "2026-11-27T10:00:00.000Z";
  const health = { state: "unhealthy", since };
  await fleet.report("edge", "1.0.0", { status: "failed", error_message: "unhealthy: apps/web: it ended", health });
  const admin = await new Visitor(hub.url).signIn(hub.adminKey);
  const path = `${fleet.at.replace("/devkeys", "").replace("/rollouts", "")}/fleet`;
  const { html } = await admin.request(path);
  t.match(html, /1 failing<.*1 unhealthy<.*>edge<.*badge bad">unhealthy<.*since <time[^>]*2026-11-27T10:00:00/s);
  t.match((await admin.request(`${path}/edge`)).html, /Unhealthy since<.*<time[^>]*2026-11-27T10:00:00/s);
  t.match((await admin.request("/fleets")).html, "1 unhealthy");
});
