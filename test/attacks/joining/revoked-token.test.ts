import t from "tap";
import { isErrorBody, startHub } from "../../support/hub/harness.ts";
import { invited, ownSecrets } from "../../support/hub/joining.ts";

t.test("a token that was revoked lets nobody in, not even a host that is approved", async (t) => {
  const hub = await startHub(t);
  const { at, invite, join, enter, list } = await invited(hub);
  const [open, looked] = [await invite({ uses: 9 }), await invite({ uses: 9, approve: true })];
  const [own, waiting, approved, thief] = [ownSecrets(), ownSecrets(), ownSecrets(), ownSecrets()];
  const approve = (host: string) => hub.call("POST", `${at}/joined-hosts/${host}/approve`);
  t.equal((await join(open.token, "pier-7", own)).status, 200);
  t.match((await join(looked.token, "pier-8", waiting)).body, { state: "pending" });
  t.match((await join(looked.token, "pier-10", approved)).body, { state: "pending" });
  t.equal((await approve("pier-10")).status, 204);
  for (const { id } of [open, looked]) t.equal((await hub.call("DELETE", `${at}/host-invites/${id}`)).status, 204);

  for (const { token } of [open, looked])
    for (const host of ["pier-9", "pier-7", "pier-8", "pier-10"])
      isErrorBody(t, await join(token, host, thief), 403, "invite_ended");
  isErrorBody(t, await approve("pier-8"), 409, "conflict");
  isErrorBody(t, await join(looked.token, "pier-8", waiting), 403, "invite_ended");
  isErrorBody(t, await join(looked.token, "pier-10", approved), 403, "invite_ended");
  for (const { key } of [waiting, approved, thief]) t.equal(await enter(key), 401);
  t.equal(await enter(own.key), 200, "whoever has joined before stays, until a person removes it");
  t.strictSame(
    (await list()).map(({ host_id: host, state }) => [host, state]),
    [
      ["pier-10", "approved"],
      ["pier-7", "joined"],
      ["pier-8", "pending"],
    ],
  );
});
