// Holds: which version of a trust root a hub adds, and who follows it (lib/hub/features/trust/publish.ts)
/** Holders of enough root keys make two versions of one number, so that some hosts follow one and some the other. */
import t from "tap";
import { heldKey, rootChain } from "../../support/forged/roots.ts";
import { createProject, isErrorBody } from "../../support/hub/harness.ts";
import { trustAt } from "../../support/hub/trust.ts";
import { RACED, startRacedHubs } from "../../support/hub/two-hubs.ts";
import { needs } from "../../support/programs/optional.ts";

for (const database of RACED)
  t.test(
    `a hub keeps the first of two, also when they come at the same moment (${database})`,
    { skip: database === "PostgreSQL" && needs("initdb") },
    async (t) => {
      const hubs = (await startRacedHubs(t, database, { rateLimits: false }))!;
      const { publish, show, read } = trustAt(hubs[0]);
      const { id } = await createProject(hubs[0]);
      const chain = rootChain();
      t.equal((await publish(chain.version(1, [heldKey()]), [id])).status, 201);
      for (let version = 2; version < 8; version++) {
        const texts = [0, 1, 2, 3].map(() => chain.version(version, [heldKey()]));
        const answers = await Promise.all(texts.map((text, index) => trustAt(hubs[index % 2]!).publish(text, [id])));
        const won = answers.findIndex(({ status }) => status === 201);
        t.equal(answers.filter(({ status }) => status === 201).length, 1, `one version ${version}`);
        for (const [index, answer] of answers.entries())
          if (index !== won) isErrorBody(t, answer, 409, "trust_root_forked");
        t.equal((await read(chain.id, version)).bytes.toString(), texts[won], "the one that was told is the one kept");
        t.equal((await show(chain.id)).body.version, version);
      }
      // Without targets, which would be locked.
      const alone = rootChain();
      for (let version = 1; version < 8; version++) {
        const texts = [0, 1, 2, 3].map(() => alone.version(version, [heldKey()]));
        const answers = await Promise.all(texts.map((text, index) => trustAt(hubs[index % 2]!).publish(text)));
        t.strictSame(answers.map(({ status }) => status).toSorted(), [201, 409, 409, 409]);
      }
    },
  );
