// Holds: which version of a trust root a hub adds, and who follows it (lib/hub/features/trust/publish.ts)
import t from "tap";
import { heldKey, rootChain } from "../../../../support/forged/roots.ts";
import { createProject } from "../../../../support/hub/harness.ts";
import { trustAt } from "../../../../support/hub/trust.ts";
import { RACED, startRacedHubs } from "../../../../support/hub/two-hubs.ts";
import { needs } from "../../../../support/programs/optional.ts";

const ROUNDS = 8;

for (const database of RACED)
  t.test(
    `whoever begins to follow a root, or goes to another owner, while its next version comes (${database})`,
    { skip: database === "PostgreSQL" && needs("initdb") },
    async (t) => {
      const [one, other] = (await startRacedHubs(t, database, { rateLimits: false }))!;
      await one.call("POST", "/devkeys/api-keys", { json: { name: "k", owner: "bob" } });
      const chain = rootChain();
      const first = chain.version(1, [heldKey()]);
      await trustAt(one).publish(first);
      const { signers, show } = trustAt(one);
      for (let version = 2; version < 2 + ROUNDS; version++) {
        const [staying, coming, going] = [await createProject(one), await createProject(one), await createProject(one)];
        await trustAt(one).publish(first, [staying.id, going.id]);
        const signer = heldKey();
        const [published, followed, given] = await Promise.all([
          trustAt(one).publish(chain.version(version, [signer])),
          trustAt(other).publish(first, [coming.id]),
          other.call("POST", `/devkeys/projects/${going.id}/transfer`, { json: { owner: "bob" } }),
        ]);
        t.strictSame(
          [published.status, followed.status, given.status],
          [201, 200, 200],
          JSON.stringify(published.body),
        );
        const { body } = await show(chain.id);
        t.equal(body.version, version);
        t.notOk((body.targets as string[]).includes(going.id), "the root stays with its owner");
        for (const { id } of [staying, coming]) {
          t.ok((body.targets as string[]).includes(id));
          const active = (await signers(id)).filter(({ state }) => state === "active");
          t.match(active, [{ public_key: signer.hex }], "each follower follows the newest version");
          t.equal(active.length, 1);
        }
      }
    },
  );

for (const database of RACED)
  t.test(
    `a target that goes to another owner while a root is published for it follows none of its former owner (${database})`,
    { skip: database === "PostgreSQL" && needs("initdb") },
    async (t) => {
      const [one, other] = (await startRacedHubs(t, database, { rateLimits: false }))!;
      await one.call("POST", "/devkeys/api-keys", { json: { name: "k", owner: "bob" } });
      const { publish, leave } = trustAt(one);
      for (let round = 0; round < ROUNDS; round++) {
        const { id } = await createProject(one);
        const chain = rootChain();
        const [published, given] = await Promise.all([
          publish(chain.version(1, [heldKey()]), [id]),
          other.call("POST", `/devkeys/projects/${id}/transfer`, { json: { owner: "bob" } }),
        ]);
        t.equal(given.status, 200);
        const followed = await one.call("GET", `/devkeys/projects/${id}/root`);
        const left = await leave(id);
        t.comment(`${published.status} ${followed.status} ${left.status}`);
        t.equal(left.status === 204, followed.status === 200, "what it follows is a root of its owner");
      }
    },
  );
