// Holds: fleets show what is kept, whoever writes at once (lib/hub/features/settings/shown.ts)
import { randomUUID } from "node:crypto";
import t from "tap";
import type { SettingsOutcome } from "../../../../../lib/contract/settings/texts.ts";
import { rounds } from "../../../../support/effort.ts";
import { type SettingsHost, withSettings } from "../../../../support/hub/settings.ts";
import { RACED, startRacedHubs } from "../../../../support/hub/two-hubs.ts";
import { needs } from "../../../../support/programs/optional.ts";

const DEPLOY = "/app/deploy/v1";
const ROUNDS = rounds(6, 60);

for (const database of RACED)
  t.test(
    `uploads, outcomes, and hosts that enter a fleet at once leave it right (${database})`,
    { skip: database === "PostgreSQL" && needs("initdb") },
    async (t) => {
      const [one, other] = (await startRacedHubs(t, database, { rateLimits: false }))!;
      const { id, host, sendCard, upload, say, shown } = await withSettings(one);
      const session = async (xdevkey: string): Promise<string> =>
        (await other.call("POST", `${DEPLOY}/auth`, { key: null, json: { xdevkey, project_id: id } })).body[
          "access_token"
        ] as string;
      const report = async ({ name, api }: SettingsHost) =>
        other.call("POST", `${DEPLOY}/deployments/report`, {
          bearer: await session(api),
          headers: { "x-sealift-host": name },
          json: {
            ...{ project_id: id, deployment_id: randomUUID(), status: "success", version: "1.0.0", plugins: [] },
            ...{ started_at: "", completed_at: "", host_id: name, running_version: "1.0.0" },
          },
        });
      const hosts: SettingsHost[] = [];
      for (let round = 1; round <= ROUNDS; round++) {
        const [fresh, plain] = [await host(`pier-${round}`), await host(`quay-${round}`)];
        await sendCard(fresh);
        const known = [...hosts, fresh];
        const documents = known.map((each) => each.document(round, hosts.includes(each) ? round - 1 : null));
        const before = hosts.map((each) => say(each.api, each.outcome(round - 1)));
        const done = await Promise.all([
          upload(documents, undefined, other),
          report(fresh),
          report(plain),
          sendCard(plain),
          ...before,
        ]);
        t.ok(
          done.every(({ status }) => status < 300),
          JSON.stringify(done.filter(({ status }) => status >= 300)),
        );
        hosts.push(fresh);
      }
      const bearer = await session(one.adminKey);
      const fleet = (await one.call("GET", `${DEPLOY}/projects/${id}/hosts`, { bearer })).body as unknown as Record<
        string,
        Record<string, unknown>
      >;
      const kept = await shown();
      t.equal(Object.keys(fleet).length, 2 * ROUNDS);
      for (const { host_id, number, outcome } of kept) {
        const said = outcome === null ? undefined : (JSON.parse(outcome) as { signed: SettingsOutcome }).signed.number;
        const { settings_number, settings_state, settings_of } = fleet[host_id]!;
        const state = number === null ? "none" : said === number ? "applied" : "waits";
        t.strictSame([settings_number, settings_state, settings_of], [number ?? undefined, state, said], host_id);
      }
    },
  );
