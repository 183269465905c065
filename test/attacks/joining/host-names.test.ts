import t from "tap";
import { isErrorBody, startHub } from "../../support/hub/harness.ts";
import { invited, ownSecrets } from "../../support/hub/joining.ts";
import { fleetOf } from "../../support/hub/project-fleet.ts";

/** Names that lead elsewhere, that are another host's, or that look like one's. */

t.test("names that are no host ids are refused, and use nothing up", async (t) => {
  const hub = await startHub(t);
  const { at, invite, join, list } = await invited(hub);
  const { token } = await invite();
  const names = [
    "",
    ".",
    "..",
    "a b",
    "a\nb",
    "a\u0000",
    "\u202egnp.exe",
    "zero\u200bwidth",
    "x".repeat(256),
    "\ud800",
  ];
  for (const name of names) isErrorBody(t, await join(token, name), 422, "unprocessable");
  t.strictSame(await list(), []);
  t.match((await hub.call("GET", `${at}/host-invites`)).body.items, [{ used: 0 }]);
});

t.test("names that look like paths and statements stay names", async (t) => {
  const hub = await startHub(t);
  const { at, invite, join, list } = await invited(hub);
  const { token } = await invite({ uses: 10 });
  const names = ["../../etc/passwd", "a/b", "'; drop table joined_hosts; --", "%2e%2e"].map((name) =>
    name.replaceAll(" ", "_"),
  );
  for (const name of names) t.equal((await join(token, name)).status, 200, name);
  t.strictSame((await list()).map(({ host_id: host }) => host).sort(), names.toSorted());
  for (const name of names)
    t.equal((await hub.call("DELETE", `${at}/joined-hosts/${encodeURIComponent(name)}`)).status, 204, name);
});

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
