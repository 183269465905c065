// Holds: what fleets show of applications and agents (lib/contract/facts/host-applications.ts,
// lib/contract/agent-version.ts)
import { randomUUID } from "node:crypto";
import t, { type Test } from "tap";
import { Fleet } from "../../../commands/fleets/fleet.ts";
import { agentIn, isAgentOlder } from "../../../lib/contract/agent-version.ts";
import { createProject, type RunningHub } from "../../support/hub/harness.ts";
import { RACED, startRacedHubs } from "../../support/hub/two-hubs.ts";
import { Visitor } from "../../support/hub/web.ts";
import { needs } from "../../support/programs/optional.ts";
import { runHere } from "../../support/programs/run-here.ts";

const DEPLOY = "/app/deploy/v1";
const AT = "2026-05-01T10:00:00.000Z";
const NEW = "sealift/0.3.0";
const OLD = "sealift";

/** A project whose hosts report applications. */
async function fleetOf(t: Test, hub: RunningHub) {
  const project = await createProject(hub, ["deploy", "report", "read"]);
  const bearer = await project.session();
  const fleet = async (...words: string[]) => {
    const given = [`project:${project.id}`, "--hub-url", hub.url, "--api-key", hub.adminKey, ...words];
    const { code, stdout, stderr } = await runHere([Fleet], ["fleet", ...given]);
    t.equal(code, 0, stderr);
    return { lines: stdout.trimEnd().split("\n"), stderr };
  };
  return {
    ...{ project, bearer, fleet },
    report: async (host: string, agent: string, more: object = {}): Promise<void> => {
      const answer = await hub.call("POST", `${DEPLOY}/deployments/report`, {
        bearer,
        headers: { "x-sealift-host": host, "user-agent": agent },
        json: {
          ...{ project_id: project.id, deployment_id: randomUUID(), status: "success", version: "1.0.0", plugins: [] },
          ...{ started_at: AT, completed_at: AT, host_id: host, running_version: "1.0.0", ...more },
        },
      });
      t.ok(answer.status < 300, JSON.stringify(answer.body));
    },
    hosts: async (query = "") =>
      (await hub.call("GET", `${DEPLOY}/projects/${project.id}/hosts${query}`, { bearer })).body as unknown as Record<
        string,
        Record<string, unknown>
      >,
    counts: async (): Promise<unknown> =>
      (await hub.call("GET", `${DEPLOY}/projects/${project.id}/fleet`, { bearer })).body,
  };
}

const APPS = {
  web: { state: "running", since: AT, restarts: 2 },
  nightly: { state: "waiting", last: AT, fault: "exit code 3" },
};

for (const database of RACED)
  t.test(
    `fleets show each application on each host, and which agents hosts have (${database})`,
    { skip: database === "PostgreSQL" && needs("initdb") },
    async (t) => {
      const [hub] = (await startRacedHubs(t, database))!;
      const { project, report, fleet, hosts, counts } = await fleetOf(t, hub);
      await report("pier-1", NEW, { applications: APPS });
      await report("pier-2", NEW, { applications: { web: { state: "stopped", since: AT } } });
      await report("pier-3", OLD);
      await report("pier-4", OLD, {
        ...{ status: "failed", health: { state: "unhealthy", since: AT }, code: "unhealthy" },
        error_message: "unhealthy: apps/web: GET http://127.0.0.1:3000/ answered 500; apps/api: it ended",
      });
      await report("pier-5", NEW);
      const { lines, stderr } = await fleet("--apps");
      t.strictSame(
        lines.map((line) => line.replaceAll(/ +/g, " ")),
        [
          "api pier-4 1.0.0 unhealthy 2026-05-01 10:00:00Z 0m it ended",
          "nightly pier-1 1.0.0 failed 2026-05-01 10:00:00Z 0m job; exit code 3",
          "web pier-1 1.0.0 running 2026-05-01 10:00:00Z 0m 2 restarts",
          "web pier-2 1.0.0 stopped 2026-05-01 10:00:00Z 0m",
          "web pier-4 1.0.0 unhealthy 2026-05-01 10:00:00Z 0m GET http://127.0.0.1:3000/ answered 500",
          "? pier-3 1.0.0 unknown 0m",
        ],
        "a host of 0.3.0 that names none has none",
      );
      t.ok(lines.every((line) => line.length <= 120));
      t.match(stderr, /^web: 3 hosts, 1 running, 1 stopped, 1 unhealthy$/m);
      t.match(stderr, /^1 host of older agents names no application$/m);
      t.strictSame((await fleet("--apps", "--app", "nightly")).lines.length, 1);
      t.strictSame(Object.keys(await hosts("?app=web")).toSorted(), ["pier-1", "pier-2"], "as their records name it");
      t.strictSame(Object.keys(await hosts("?app=we")), []);
      const csv = (await fleet("--apps", "--csv")).lines;
      t.match(csv[0], /^target,application,host_id,version,state,since,restarts,last,fault,reported_at,stale,agent$/);
      t.equal(csv.length, 7);
      const [first] = (await fleet("--apps", "--json", "--app", "nightly")).lines;
      t.match(JSON.parse(first!), {
        ...{ event: "application", target: `project:${project.id}`, application: "nightly", host_id: "pier-1" },
        ...{ version: "1.0.0", state: "failed", since: null, restarts: null, last: AT, fault: "exit code 3" },
        ...{ stale: false, agent: "0.3.0" },
      });

      t.match(await counts(), {
        agents: [
          { agent: "0.3.0", hosts: 3 },
          { agent: "before 0.3.0", hosts: 2 },
        ],
      });
      const shown = await fleet();
      t.match(shown.stderr, /^sealift: 0\.3\.0 on 3, before 0\.3\.0 on 2$/m);
      await report("pier-3", NEW);
      await report("pier-3", "curl/8.5.0");
      t.match(await hosts(), { "pier-3": { agent: "0.3.0" } }, "what another program sends says nothing of the agent");

      t.comment("what a report does not say stays, while the same version runs");
      await report("pier-1", NEW, { status: "failed", version: "2.0.0", code: "unhealthy" });
      t.match(await hosts(), { "pier-1": { version: "2.0.0", applications: APPS } });
      await report("pier-1", NEW, { version: "2.0.0", running_version: "2.0.0" });
      t.notOk("applications" in (await hosts())["pier-1"]!);
    },
  );

t.test("the page lists applications of hosts, and filters them", async (t) => {
  const [hub] = (await startRacedHubs(t, "SQLite"))!;
  const { project, report } = await fleetOf(t, hub);
  const visitor = await new Visitor(hub.url).signIn(hub.adminKey);
  const page = async (path: string): Promise<string> => (await visitor.request(`/projects/${project.id}${path}`)).html;
  t.match(await page("/applications"), /No host tells of an application/);
  await report("pier-1", NEW, { applications: APPS });
  await report("pier-2", NEW, { applications: { web: { state: "stopped", since: AT } } });
  const all = await page("/applications");
  t.match(all, /nightly.*pier-1.*failed.*exit code 3/s);
  t.match(all, /pier-2.*stopped/s);
  const one = await page("/applications?app=nightly");
  t.notMatch(one, />pier-2</);
  t.match(one, /<option value="nightly" selected/);
  t.notMatch(await page("/applications?q=pier-2"), />pier-1</);
  t.match(await page("/applications?app=%22%7B"), />pier-1</, "what no application is called shows all hosts");
  t.match(await page("/fleet"), /href="[^"]*\/applications"/);
  t.match(await page("/fleet/pier-1"), /Applications.*nightly.*Sealift|Sealift.*Applications.*nightly/s);
});

t.test("malformed facts of applications are left out, and the report is taken", async (t) => {
  const [hub] = (await startRacedHubs(t, "SQLite"))!;
  const { report, hosts } = await fleetOf(t, hub);
  const many = Object.fromEntries(Array.from({ length: 201 }, (_, index) => [`a${index}`, { state: "running" }]));
  for (const applications of [{ "../x": { state: "running" } }, { web: { state: "<b>" } }, { web: 1 }, many, []])
    await report("pier-1", NEW, { applications });
  t.notOk("applications" in (await hosts())["pier-1"]!);
});

t.test("a User-Agent names the version of an agent", (t) => {
  t.equal(agentIn("sealift"), "before 0.3.0");
  t.equal(agentIn("sealift/0.3.0-rc.1"), "0.3.0-rc.1");
  for (const other of [
    undefined,
    "",
    "curl/8",
    "sealift-hub",
    "sealift/",
    "sealift/<b>",
    `sealift/1.0.0-${"a".repeat(99)}`,
  ])
    t.equal(agentIn(other), undefined, other ?? "none");
  t.ok(isAgentOlder("before 0.3.0", "0.3.0"));
  t.notOk(isAgentOlder("0.3.0", "0.3.0"));
  t.notOk(isAgentOlder("0.2.0", "0.3.0"), "a build before the release says the number of the last one");
  t.ok(isAgentOlder("0.3.0", "0.4.0"));
  t.notOk(isAgentOlder("0.4.0", "0.3.0"));
  t.end();
});
