// Holds: what the adoption of a fleet counts (lib/hub/fleets/adoption.ts)
import t from "tap";
import { createProject, isErrorBody, startHub } from "../../support/hub/harness.ts";
import { FLEET_SCOPES, fleetOf } from "../../support/hub/project-fleet.ts";
import { report } from "../../support/hub/shown-hub.ts";
import { Visitor } from "../../support/hub/web.ts";

const DAY_MS = 86_400_000;
const AT = "/app/deployments/deployments/plugin/tide";

t.test("a fleet's versions day by day, and the hosts that failed", async (t) => {
  let now = Date.parse("2026-03-01T12:00:00Z");
  const hub = await startHub(t, { clock: () => now });
  await hub.call("POST", "/devkeys/projects", { json: { name: "Tide", kind: "plugin", slug: "tide" } });
  const days = async (path = AT) =>
    (await hub.call("GET", `${path}/adoption`)).body.days as { day: string; versions: object[]; failing: number }[];
  const of = { slug: "tide", version: "1.0.0" };
  for (const host of ["a", "b", "c"]) await report(hub, { ...of, host });
  now += 40 * DAY_MS;
  await report(hub, { ...of, host: "a", version: "1.1.0" });
  for (const status of ["failed", "rolled_back"] as const)
    await report(hub, { ...of, host: "b", version: "1.1.0", running: "1.0.0", status });
  now += DAY_MS;

  const all = await days();
  t.equal(all.length, 30);
  t.equal(all[0]!.day, "2026-03-13");
  t.strictSame(all[0], { day: "2026-03-13", versions: [{ version: "1.0.0", hosts: 3 }], failing: 0 }, "from before");
  const changed = [
    { version: "1.0.0", hosts: 2 },
    { version: "1.1.0", hosts: 1 },
  ];
  t.strictSame(all.slice(-2), [
    { day: "2026-04-10", versions: changed, failing: 1 },
    { day: "2026-04-11", versions: changed, failing: 0 },
  ]);

  await report(hub, { ...of, host: "c", version: "1.1.0" });
  t.match(
    (await days()).at(-1),
    { versions: [{ version: "1.1.0", hosts: 2 }, { hosts: 1 }] },
    "a report counts at once",
  );
  await hub.call("DELETE", `${AT}/hosts/c`);
  await report(hub, { ...of, host: "a", version: "1.1.0" });
  t.match(
    (await days()).at(-1),
    { versions: [{ hosts: 1 }, { hosts: 1 }] },
    "a host that was forgotten is in no count",
  );
  isErrorBody(t, await hub.call("GET", `${AT.replace("tide", "none")}/adoption`), 404, "not_found");

  const admin = await new Visitor(hub.url).signIn(hub.adminKey);
  const { html } = await admin.request("/plugins/tide/fleet");
  t.match(html, /aria-label="Hosts by version from 2026-03-13 to 2026-04-11, at the end 1 on 1\.0\.0, 1 on 1\.1\.0\./);
  t.match(html, "<title>2026-04-10: 1 host failed</title>");
  t.match(html, /<th scope="row">2026-04-10<.*?>1<.*?>1<.*?>1</, "the table says the same");
});

t.test("a project's fleet has its days, for those who may see it", async (t) => {
  const hub = await startHub(t);
  const project = await createProject(hub, FLEET_SCOPES);
  const fleet = await fleetOf(hub, project);
  await fleet.report("web", "1.0.0");
  const path = `/app/deploy/v1/projects/${project.id}/adoption`;
  const { body } = await hub.call("GET", path, { key: project.key });
  t.match((body.days as object[]).at(-1), { versions: [{ version: "1.0.0", hosts: 1 }], failing: 0 });
  const other = await createProject(hub);
  isErrorBody(t, await hub.call("GET", path, { key: other.key }), 403, "forbidden");
});
