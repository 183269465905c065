import t from "tap";
import { isErrorBody, startHub } from "../../support/hub/harness.ts";
import { invited, ownSecrets } from "../../support/hub/joining.ts";

t.test("a token that is used up lets nobody in, and no removal gives a use back", async (t) => {
  const hub = await startHub(t);
  const { at, invite, join, enter, list } = await invited(hub);
  const { token } = await invite({ uses: 2 });
  const [own, thief] = [ownSecrets(), ownSecrets()];
  for (const host of ["a", "a", "a"]) t.equal((await join(token, host, own)).status, 200, "one host, again and again");
  isErrorBody(t, await join(token, "a", thief), 409, "host_taken");
  t.match((await hub.call("GET", `${at}/host-invites`)).body.items, [{ state: "open", used: 1 }]);
  t.equal((await join(token, "b")).status, 200);
  for (const host of ["c", "a", "b"]) isErrorBody(t, await join(token, host, thief), 403, "invite_ended");
  t.equal((await hub.call("DELETE", `${at}/joined-hosts/b`)).status, 204);
  for (const host of ["b", "c"]) isErrorBody(t, await join(token, host, thief), 403, "invite_ended");
  t.equal(await enter(thief.key), 401);
  t.strictSame(
    (await list()).map(({ host_id: host }) => host),
    ["a"],
  );
  t.match((await hub.call("GET", `${at}/host-invites`)).body.items, [{ state: "used", used: 2 }]);
});
