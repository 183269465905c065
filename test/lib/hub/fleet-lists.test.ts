import t from "tap";
import { HELD_RIGHTS } from "../../../lib/contract/blame.ts";
import { createProject, isErrorBody, startHub } from "../../support/hub/harness.ts";
import { FLEET_SCOPES, fleetOf } from "../../support/hub/project-fleet.ts";
import { report } from "../../support/hub/shown-hub.ts";

const DAY = 86_400_000;
const AT = "/app/deployments/deployments/plugin/tide";

t.test("a fleet is listed by state and host, one screen at a time, with filters, and counted", async (t) => {
  let now = Date.now();
  const hub = await startHub(t, { clock: () => now });
  await hub.call("POST", "/devkeys/projects", { json: { name: "T", kind: "plugin", slug: "tide" } });
  const of = { slug: "tide", version: "1.0.0" };
  await report(hub, { ...of, host: "gone" });
  now += 31 * DAY;
  for (const host of ["10", "9", "tromsø"]) await report(hub, { ...of, host });
  await report(hub, { ...of, host: "bad", version: "1.1.0", running: "1.0.0", status: "failed", error: "no space" });
  await report(hub, {
    ...of,
    host: "asks",
    version: "1.1.0",
    running: "1.0.0",
    status: "failed",
    error: `${HELD_RIGHTS}x`,
  });
  const { id } = (await hub.call("GET", "/devkeys/projects")).body.items[0] as { id: string };
  const labels = { labels: { env: "prod" } };
  t.equal((await hub.call("PUT", `/devkeys/projects/${id}/hosts/9/labels`, { json: labels })).status, 204);

  /** Reads the names of every screen as they stand in the text: objects in memory have numbers first. */
  const list = async (query: string, after?: string): Promise<string[]> => {
    const more = after === undefined ? "" : `&after=${encodeURIComponent(after)}`;
    const { status, bytes, headers } = await hub.call("GET", `${AT}/hosts?${query}${more}`);
    t.equal(status, 200);
    const names = [...bytes.toString().matchAll(/"host_id":"([^"]+)"[^]*?"state":"(\w+)"/g)].map(
      ([, a, b]) => `${b} ${a}`,
    );
    const next = headers.get("x-next");
    return next === null ? names : [...names, ...(await list(query, next))];
  };
  const all = ["failed bad", "held asks", "ok 10", "ok 9", "ok tromsø", "silent gone"];
  t.strictSame(await list("limit=2"), all);
  t.strictSame(await list("limit=500"), all);
  t.strictSame(await list("state=ok&limit=1"), all.slice(2, 5));
  t.strictSame(await list("version=1.0.0&state=failed"), ["failed bad"]);
  t.strictSame(await list("label=env%3Dprod"), ["ok 9"]);
  t.strictSame(await list("label=env"), ["ok 9"]);
  t.strictSame(await list("text=TROM"), ["ok tromsø"]);
  t.strictSame(await list("label=env%3Dtest"), []);
  t.strictSame((await hub.call("GET", `${AT}/fleet`)).body, {
    hosts: 6,
    states: { failed: 1, held: 1, ok: 3, silent: 1 },
    unhealthy: 0,
    versions: [{ version: "1.0.0", hosts: 6, failing: 1 }],
    labels: ["env=prod"],
  });

  const whole = await hub.call("GET", `${AT}/hosts`);
  t.strictSame(new Set(Object.keys(whole.body as object)), new Set(all.map((each) => each.split(" ")[1])));
  t.notMatch(whole.bytes.toString(), '"state"', "without a parameter of a list the answer is what it was");
  const changed = await hub.call("GET", `${AT}/hosts?since=${Number(whole.headers.get("x-cursor")) - 1}`);
  t.strictSame(Object.keys(changed.body as object), ["9"]);

  for (const query of ["after=nobody", "after=ok:%25zz", "state=odd", "limit=0", "limit=501", "limit=5&since=1"])
    isErrorBody(t, await hub.call("GET", `${AT}/hosts?${query}`), 422, "unprocessable");
  isErrorBody(t, await hub.call("GET", `${AT.replace("tide", "none")}/hosts?limit=5`), 404, "not_found");
  isErrorBody(t, await hub.call("GET", `${AT.replace("tide", "none")}/fleet`), 404, "not_found");
  isErrorBody(t, await hub.call("GET", `${AT}/hosts/nobody`), 404, "not_found");
});

t.test("the record of one host has its state, its steps and, of a project, its plugins", async (t) => {
  const hub = await startHub(t);
  const project = await createProject(hub, FLEET_SCOPES);
  const fleet = await fleetOf(hub, project);
  const steps = [{ id: "migrate", action: "run", status: "done", duration_ms: 5, error_message: null }];
  const plugins = [{ id: "tide-table", version: "2.0.0" }];
  t.equal((await fleet.report("web", "1.0.0", { steps, plugins })).status, 200);
  const at = `/app/deploy/v1/projects/${project.id}`;
  const { body } = await hub.call("GET", `${at}/hosts/web`, { key: project.key });
  t.match(body, { host_id: "web", version: "1.0.0", state: "ok", seen_at: /^2/, steps, plugins });
  t.match((await hub.call("GET", `${at}/fleet`, { key: project.key })).body, { hosts: 1, states: { ok: 1 } });
  t.match((await hub.call("GET", `${at}/hosts?state=ok`, { key: project.key })).body, { web: { state: "ok" } });
  const other = await createProject(hub, FLEET_SCOPES);
  for (const path of [`${at}/hosts/web`, `${at}/fleet`, `${at}/hosts?state=ok`])
    isErrorBody(t, await hub.call("GET", path, { key: other.key }), 403, "forbidden");
});
