// Holds: whether a host's name is taken in its project (lib/hub/records/host-names.ts)
import t from "tap";
import { isErrorBody, startHub } from "../../support/hub/harness.ts";
import { invited, ownSecrets } from "../../support/hub/joining.ts";
import { fleetOf } from "../../support/hub/project-fleet.ts";

t.test("a stolen token gives nobody the name of a host that is there, whichever way it came", async (t) => {
  const hub = await startHub(t);
  const { project, invite, join, enter } = await invited(hub);
  const { token } = await invite({ uses: 10 });
  const own = ownSecrets();
  await join(token, "joined", own);
  await hub.call("POST", "/devkeys/api-keys", { json: { name: "k", project_id: project.id, host: "by-hand" } });
  await (await fleetOf(hub, project)).report("reported", "1.0.0");
  for (const host of ["joined", "by-hand", "reported"]) {
    const thief = ownSecrets();
    isErrorBody(t, await join(token, host, thief), 409, "host_taken");
    t.equal(await enter(thief.key), 401);
  }
  t.equal(await enter(own.key), 200);
});
