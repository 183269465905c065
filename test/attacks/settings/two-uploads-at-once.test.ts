// Holds: which of two uploads a hub takes (lib/hub/features/settings/records.ts)
import t from "tap";
import { withSettings } from "../../support/hub/settings.ts";
import { RACED, startRacedHubs } from "../../support/hub/two-hubs.ts";
import { needs } from "../../support/programs/optional.ts";

const ROUNDS = 6;

for (const database of RACED)
  t.test(
    `of two operators who upload at once, through two hubs, exactly one wins (${database})`,
    { skip: database === "PostgreSQL" && needs("initdb") },
    async (t) => {
      const [one, two] = (await startRacedHubs(t, database, { rateLimits: false }))!;
      const { host, upload, own, shown, uploader } = await withSettings(one);
      const hosts = [await host("pier-7"), await host("pier-8")];
      let said = 0;
      for (let round = 1; round <= ROUNDS; round++) {
        const follows = round === 1 ? null : round - 1;
        const batch = () => hosts.map((each) => each.document(round, follows));
        const batches = [batch(), batch().toReversed()];
        const answers = await Promise.all([upload(batches[0]!), upload(batches[1]!, uploader, two)]);
        t.strictSame(answers.map(({ status }) => status).sort(), [200, 409]);
        const won = answers.findIndex(({ status }) => status === 200);
        t.match(answers[1 - won]!.body, { code: "settings_conflict", hosts: [{ number: round }, { number: round }] });
        for (const { name, api } of hosts) {
          const mine = batches[won]!.find(({ host_id }) => host_id === name)!;
          t.equal((await own(api)).body["sealed"], mine["sealed"], "both hosts have those of one upload");
        }
        const version = answers[won]!.body["settings_version"] as number;
        t.ok(version > said);
        said = version;
      }
      t.match(await shown(), [{ number: ROUNDS }, { number: ROUNDS }]);
    },
  );
