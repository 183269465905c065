// Holds: where the log of a report is shown (lib/hub/fleets/fleet-view.ts)
import t from "tap";
import { MAX_LOG_CHARACTERS } from "../../../lib/contract/surfaces/reports.ts";
import { startHub } from "../../support/hub/harness.ts";
import { operatedFleet } from "../../support/hub/project-fleet.ts";
import { Visitor } from "../../support/hub/web.ts";

t.test("a host's page and record show the log of its last report, and the view of the fleet does not", async (t) => {
  const hub = await startHub(t);
  const fleet = await operatedFleet(hub);
  await fleet.publish("1.0.0");
  const log = ["Error: no database", "  at <server>"];
  await fleet.report("a", "1.0.0", { status: "failed", code: "unhealthy", error_message: "It ended with 3.", log });
  const hosts = `/app/deploy/v1/projects/${fleet.project.id}/hosts`;
  t.match((await hub.call("GET", `${hosts}/a`)).body, { code: "unhealthy", log });
  t.notOk("log" in ((await hub.call("GET", hosts)).body["a"] as object));
  const admin = await new Visitor(hub.url).signIn(hub.adminKey);
  t.match(
    (await admin.request(`/projects/${fleet.project.id}/fleet/a`)).html,
    /<h2 id="log">Log<.*Error: no database\n {2}at &lt;server&gt;/s,
  );
  for (const bad of [["x".repeat(MAX_LOG_CHARACTERS + 1)], Array(21).fill("x"), "text", [3]]) {
    t.equal((await fleet.report("a", "1.0.0", { status: "failed", log: bad })).status, 200, "the report counts");
    t.notOk("log" in (await hub.call("GET", `${hosts}/a`)).body);
  }
});

t.test("a report of a plugin has its log in the history", async (t) => {
  const hub = await startHub(t);
  await hub.call("POST", "/devkeys/projects", { json: { name: "Tide", kind: "plugin", slug: "tide" } });
  const at = { started_at: "2026-11-29T10:00:00Z", completed_at: "2026-11-29T10:00:01Z" };
  const json = { kind: "plugin", slug: "tide", version: "1.0.0", status: "failed", host_id: "a", log: ["why"], ...at };
  t.equal((await hub.call("POST", "/app/deployments/deployments/report", { json })).status, 201);
  const { body } = await hub.call("GET", "/app/deployments/deployments/plugin/tide/reports");
  t.match(body, { items: [{ host_id: "a", log: ["why"] }] });
});
