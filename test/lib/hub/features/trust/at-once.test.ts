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
