import t, { type Test } from "tap";
import { Fleet } from "../../../../../commands/fleets/fleet.ts";
import { type RunningHub, startHub } from "../../../../support/hub/harness.ts";
import { startPostgres } from "../../../../support/hub/postgres-server.ts";
import { operatedFleet, until } from "../../../../support/hub/project-fleet.ts";
import { runHere } from "../../../../support/programs/run-here.ts";

type States = Record<string, { state: string; superseded?: boolean }>;

async function settles(t: Test, hub: RunningHub): Promise<void> {
  const fleet = await operatedFleet(hub);
  const hosts = `/app/deploy/v1/projects/${fleet.project.id}/hosts`;
  const states = async (): Promise<States> =>
    (await hub.call("GET", `${hosts}?limit=100`, { key: fleet.key })).body as States;
  const counts = async () =>
    (await hub.call("GET", `/app/deploy/v1/projects/${fleet.project.id}/fleet`, { key: fleet.key })).body as {
      states: object;
    };
  const at = ["--hub-url", hub.url, "--api-key", hub.adminKey];
  const shown = async (): Promise<string> => {
    const { stdout, stderr } = await runHere([Fleet], ["fleet", `project:${fleet.project.id}`, "--no-tui", ...at]);
    return stdout + stderr;
  };
  const failed = { status: "failed", running_version: "1.0.0", error_message: "port taken" };
  const held = { ...failed, error_message: "held: rights: network" };

  await fleet.publish("1.0.0", "2.0.0");
  await fleet.report("good", "1.0.0");
  for (const host of ["back-1", "back-2"]) await fleet.report(host, "2.0.0", failed);
  await fleet.report("holds", "2.0.0", held);
  await fleet.report("bare", "2.0.0", { ...failed, running_version: null });
  await fleet.report("other", "1.5.0", failed);
  t.match(await shown(), /6 hosts, 4 failing, 1 waiting/);
  const before = (await hub.call("GET", hosts, { key: fleet.key })).headers.get("x-cursor")!;

  await fleet.yank("2.0.0");
  const settled = await until(states, (all) => all["holds"]?.state === "ok" && all["back-2"]?.state === "ok");
  const only = (state: string): string[] => Object.keys(settled).filter((host) => settled[host]!.state === state);
  t.strictSame(only("failed").toSorted(), ["bare", "other"], "one runs nothing, one failed with a version that stays");
  t.match(await counts(), { states: { failed: 2, held: 0, ok: 4 } });
  t.match(await shown(), /6 hosts, 2 failing/);
  t.match(await shown(), /back-1 +1\.0\.0 .* current .*2\.0\.0 failed, and is offered no longer/);
  const changed = (await hub.call("GET", `${hosts}?since=${before}`, { key: fleet.key })).body as States;
  t.strictSame(Object.keys(changed).toSorted(), ["back-1", "back-2", "holds"], "a reader of changes hears of it");

  await fleet.report("late", "2.0.0", failed);
  t.match((await states())["late"], { state: "ok", superseded: true }, "nor does one that reports after the yank fail");
  await fleet.unyank("2.0.0");
  await until(states, (all) => Object.values(all).every(({ superseded }) => superseded === undefined));
  t.match(await counts(), { states: { failed: 5, held: 1, ok: 1 } }, "whose version is back fails again");
  await fleet.yank("2.0.0");
  await fleet.remove("2.0.0");
  await fleet.report("later", "2.0.0", failed);
  t.match((await states())["later"], { state: "ok" }, "a deleted version is gone, too");
  await fleet.report("back-1", "1.0.0");
  t.equal((await states())["back-1"]!.superseded, undefined, "the next report speaks for itself");
}

t.test("a failure of a version that was taken away is past, on SQLite", async (t) =>
  settles(t, await startHub(t, { rateLimits: false })),
);

t.test("a failure of a version that was taken away is past, on PostgreSQL", async (t) => {
  const databaseUrl = await startPostgres(t);
  if (databaseUrl === undefined) return void t.plan(0, "PostgreSQL is not installed");
  await settles(t, await startHub(t, { databaseUrl, rateLimits: false }));
});
