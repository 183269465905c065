import t from "tap";
import { FEATURES } from "../../../lib/hub/features.ts";
import { Clones } from "../../../lib/hub/features/joining/clones.ts";
import type { Heard } from "../../../lib/hub/features/joining/host-records.ts";
import { openDatabase } from "../../../lib/hub/records/database.ts";
import { startHub } from "../../support/hub/harness.ts";
import { invited, ownSecrets } from "../../support/hub/joining.ts";

class Counted extends Clones {
  stored = 0;

  protected override store(heard: readonly Heard[], now: number): Promise<void> {
    this.stored += heard.length;
    return super.store(heard, now);
  }
}

t.test("a stolen key that names another watch with each request makes the hub note a few of them", async (t) => {
  const hub = await startHub(t);
  const { project, invite, join, list } = await invited(hub);
  await join((await invite()).token, "pier-7", ownSecrets());
  const database = await openDatabase({ hooks: FEATURES, dataDir: hub.dataDir });
  t.teardown(() => database.close());
  await using clones = new Counted(database.kysely, Date.now);
  const facts = { owner: "", keyId: "", scopes: new Set<never>(), expiresAt: null };
  const principal = { ...facts, projectId: project.id, host: "pier-7" };
  const flood = (request: (index: number) => string): void => {
    for (let index = 0; index < 100_000; index++)
      clones.note({ headers: { "x-sealift-instance": request(index) }, ip: "10.0.0.1" }, principal);
  };
  flood((index) => `random-${index}`);
  await clones.write();
  t.equal(clones.stored, 16);
  t.strictSame((await list())[0]!.clones, []);
  flood((index) => `machine-${index % 2}`);
  await clones.write();
  t.equal(clones.stored, 32, "and no more where two take turns as fast as they can");
  t.equal((await list())[0]!.clones.length, 2, "which are told");
});
