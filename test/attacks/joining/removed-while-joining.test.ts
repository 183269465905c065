import { setTimeout as sleep } from "node:timers/promises";
import t from "tap";
import { startHub } from "../../support/hub/harness.ts";
import { invited, ownSecrets } from "../../support/hub/joining.ts";
import { startPostgres } from "../../support/hub/postgres-server.ts";

/** A host comes back for its key at the very moment in which an operator removes it. */

t.test("a host that is removed while it joins has no key afterwards", async (t) => {
  const databaseUrl = await startPostgres(t);
  const hub = await startHub(t, { rateLimits: false, ...(databaseUrl !== undefined && { databaseUrl }) });
  const { at, invite, join, enter, list } = await invited(hub);
  const { token } = await invite({ uses: 1000, approve: true });
  for (let round = 0; round < 20; round++) {
    const own = ownSecrets();
    const host = `host-${round}`;
    await join(token, host, own);
    await hub.call("POST", `${at}/joined-hosts/${host}/approve`);
    const [joined, removed] = await Promise.all([
      sleep(round % 4).then(() => join(token, host, own)),
      sleep(round % 3).then(() => hub.call("DELETE", `${at}/joined-hosts/${host}`)),
    ]);
    t.equal(removed.status, 204);
    // It may have been removed first: then it is a new host that waits for approval.
    t.match(joined, { status: 200 });
    t.equal(await enter(own.key), 401, `${host}, which was told ${joined.body.state}`);
  }
  t.ok((await list()).every(({ state }) => state === "pending"));
});
