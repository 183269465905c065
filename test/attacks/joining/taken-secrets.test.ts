// Only in test:all: many requests for one rule, 8 s of a processor.
/** A host asks with a secret that another host has, or with another one than before. */
import t from "tap";
import { type RunningHub, startHub } from "../../support/hub/harness.ts";
import { invited, ownSecrets } from "../../support/hub/joining.ts";
import { RACED, startRacedHubs } from "../../support/hub/two-hubs.ts";

const taken = (what: RegExp) => ({ status: 409, body: { code: "conflict", error: what } });

for (const database of RACED)
  t.test(`no host joins with the deployment credential or the key of another one, on ${database}`, async (t) => {
    const hubs = await startRacedHubs(t, database, { rateLimits: false });
    if (hubs === undefined) return t.plan(0, "PostgreSQL is not installed");
    const [one, other] = [await invited(hubs[0]), await invited(hubs[0])];
    const { token } = await one.invite({ uses: 20 });
    const [first, second] = [ownSecrets(), ownSecrets()];
    t.equal((await one.join(token, "first", first)).status, 200);
    const { deployment_credential } = first;
    t.match(await one.join(token, "second", { ...second, deployment_credential }), taken(/credential is in use/));
    t.equal((await one.list()).length, 1, "and it leaves nothing behind");
    t.equal((await one.join(token, "second", second)).status, 200, "with a credential of its own it joins");

    // A key that waits for approval in one project, and asks for another one.
    const waiting = ownSecrets();
    const pending = await one.invite({ approve: true });
    t.equal((await one.join(pending.token, "third", waiting)).status, 200);
    const elsewhere = await other.invite({ uses: 20 });
    t.match(await other.join(elsewhere.token, "third", waiting), taken(/key is in use/));

    // Both projects hear of one key at the same moment.
    for (let round = 0; round < 8; round++) {
      const shared = ownSecrets();
      const answers = await Promise.all([
        one.join(token, `shared-${round}`, shared, hubs[0]),
        other.join(elsewhere.token, `shared-${round}`, shared, hubs[1]),
      ]);
      t.strictSame(answers.map(({ status }) => status).sort(), [200, 409]);
    }
  });

t.test("a host that has joined asks again with the same credential", async (t) => {
  const hub: RunningHub = await startHub(t);
  const { invite, join, project } = await invited(hub);
  const { token } = await invite();
  const own = ownSecrets();
  t.equal((await join(token, "pier", own)).status, 200);
  const { deployment_credential } = ownSecrets();
  t.match(await join(token, "pier", { ...own, deployment_credential }), taken(/another deployment credential/));
  t.match(await join(token, "pier", own), { status: 200, body: { project_id: project.id, project_name: "Demo" } });
});

for (const database of RACED)
  t.test(`a token of a deleted project is unknown, on ${database}`, async (t) => {
    const hubs = await startRacedHubs(t, database, { rateLimits: false });
    if (hubs === undefined) return t.plan(0, "PostgreSQL is not installed");
    for (let round = 0; round < 6; round++) {
      const { at, invite, join } = await invited(hubs[0]);
      const { token } = await invite({ uses: 9 });
      const [joined] = await Promise.all([
        join(token, "pier", {}, hubs[1]),
        hubs[0].call("DELETE", `${at}?force=true`),
      ]);
      t.ok([200, 401].includes(joined.status), `${joined.status}`);
      t.match(await join(token, "quay"), { status: 401, body: { code: "key_rejected" } });
    }
  });
