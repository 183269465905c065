import t from "tap";
import { FEATURES } from "../../../../lib/hub/features.ts";
import { openDatabase } from "../../../../lib/hub/records/database.ts";
import { Sightings } from "../../../../lib/hub/records/sightings.ts";
import { startHub } from "../../../support/hub/harness.ts";
import { operatedFleet } from "../../../support/hub/project-fleet.ts";

const HOUR_MS = 60 * 60 * 1000;

t.test("a host that says its name for the first time changes its view, and later polls do not", async (t) => {
  const hub = await startHub(t);
  const fleet = await operatedFleet(hub);
  await fleet.publish("1.0.0");
  // The report's own header names the host that sends it, not these two.
  for (const host_id of ["a", "b"]) await fleet.report("other", "1.0.0", { host_id });
  const database = await openDatabase({ hooks: FEATURES, dataDir: hub.dataDir });
  t.teardown(() => database.close());
  let now = Date.now();
  const sightings = new Sightings(database.kysely, () => now);
  t.teardown(() => sightings[Symbol.asyncDispose]());
  const view = { holder: "", target: fleet.project.id };
  const poll = async (...hosts: string[]): Promise<number> => {
    for (const host of hosts) sightings.note({ headers: { "x-sealift-host": host } }, view);
    await sightings.write();
    const { changes } = await database.kysely
      .selectFrom("views")
      .select("changes")
      .where("target", "=", view.target)
      .executeTakeFirstOrThrow();
    return Number(changes);
  };
  const before = await poll();
  t.equal(await poll("a", "b"), before + 1, "both at once");
  now += HOUR_MS;
  t.equal(await poll("a", "b"), before + 1);
  const seen = await database.kysely.selectFrom("hosts").select(["host_id", "seen_at", "change"]).execute();
  for (const { host_id, seen_at, change } of seen) {
    t.equal(seen_at, new Date(now).toISOString(), host_id);
    t.equal(Number(change), before + 1);
  }
});
