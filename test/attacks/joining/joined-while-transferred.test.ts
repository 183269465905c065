// Only in test:all: many requests for one rule, 4 s of a processor.
import t from "tap";
import { startHub } from "../../support/hub/harness.ts";
import { invited, ownSecrets } from "../../support/hub/joining.ts";
import { startPostgresServer } from "../../support/hub/postgres-server.ts";

t.test("no host keeps a key that joins with a former owner's invite while the project is transferred", async (t) => {
  const server = await startPostgresServer(t);
  if (server === undefined) return t.plan(0, "PostgreSQL is not installed");
  const hub = await startHub(t, { rateLimits: false, databaseUrl: server.url });
  const { at, invite, join, enter } = await invited(hub);
  const give = (owner: string) => hub.call("POST", `${at}/transfer`, { json: { owner } });
  for (const owner of ["next", "other"]) await hub.call("POST", "/devkeys/api-keys", { json: { name: owner, owner } });
  for (let round = 0; round < 4; round++) {
    const invites = await Promise.all(Array.from({ length: 12 }, () => invite()));
    const hosts = invites.map(({ token }, index) => ({ token, host: `host-${round}-${index}`, own: ownSecrets() }));
    const joining = hosts.map(({ token, host, own }) => join(token, host, own));
    await Promise.race(joining);
    t.equal((await give(round % 2 === 0 ? "next" : "other")).status, 200);
    await Promise.all(joining);
    for (const { host, own } of hosts) t.equal(await enter(own.key), 401, host);
  }
});
