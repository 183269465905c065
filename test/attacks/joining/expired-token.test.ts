import t from "tap";
import { isErrorBody, startHub } from "../../support/hub/harness.ts";
import { invited, ownSecrets, soon } from "../../support/hub/joining.ts";

t.test("a token that has expired lets nobody in, whoever has used it before", async (t) => {
  let now = Date.now();
  const hub = await startHub(t, { clock: () => now });
  const { at, invite, join, enter, list } = await invited(hub);
  const { token, expires_at: end } = await invite({ uses: 9, approve: true, expires_at: soon() });
  const own = ownSecrets();
  t.match((await join(token, "pier-7", own)).body, { state: "pending" });
  now = Date.parse(end) - 1;
  t.match((await join(token, "pier-8")).body, { state: "pending" }, "until its last moment");
  now = Date.parse(end);
  const thief = ownSecrets();
  for (const host of ["pier-9", "pier-7"]) {
    const answer = await join(token, host, thief);
    isErrorBody(t, answer, 403, "invite_ended");
    t.match(answer.body, { error: `The invite expired at ${end}.` });
  }
  t.equal(await enter(thief.key), 401);
  t.match((await hub.call("GET", `${at}/host-invites`)).body.items, [{ state: "expired", used: 2 }]);
  await hub.call("POST", `${at}/joined-hosts/pier-7/approve`);
  isErrorBody(t, await join(token, "pier-7", thief), 403, "invite_ended");
  t.match((await join(token, "pier-7", own)).body, { state: "joined" }, "the host that waited has its own key");
  t.strictSame(
    (await list()).map(({ host_id: host }) => host),
    ["pier-7", "pier-8"],
  );
});
