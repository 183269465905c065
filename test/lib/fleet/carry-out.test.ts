// Holds: how many documents an upload of settings has (lib/fleet/carry-out.ts)
import t, { type Test } from "tap";
import { SettingsClient } from "../../../lib/client/settings.ts";
import { MAX_BATCH } from "../../../lib/contract/settings/limits.ts";
import { carryOut } from "../../../lib/fleet/carry-out.ts";
import type { PlannedHost } from "../../../lib/fleet/plan.ts";
import { judgedFleet } from "../../support/hub/judged-fleet.ts";
import { DOUBLE_KEY, startSettingsDouble } from "../../support/hub/settings-double.ts";

/** Uploads a value to hosts at once. @returns the documents of each upload */
async function uploaded(t: Test, count: number, value: string) {
  const hub = await startSettingsDouble(t);
  const names = Array.from({ length: count }, (_, index) => `pier-${index}`);
  const { roll, judged, operatorSeed } = await judgedFleet(
    t,
    Object.fromEntries(names.map((name) => [name, { hub: null, said: null }])),
  );
  for (const name of names) hub.put(name);
  const apps = { web: { A: value } };
  const content = { hosts: [], apps, digests: { web: { A: "0".repeat(16) } }, id: "0".repeat(16) };
  const planned = judged.flatMap((one): PlannedHost[] =>
    one.state === "known" ? [{ host: one.host, row: one.row, number: 4, content }] : [],
  );
  const client = new SettingsClient({ hubUrl: hub.url, apiKey: DOUBLE_KEY, timeoutMs: 60_000 }, roll.project);
  const options = { client, roll, operatorSeed, allAtOnce: true, waitMs: undefined, tell: () => {} };
  await carryOut({ planned, unheard: [] }, options);
  return hub.uploads;
}

t.test("an upload has a thousand documents at most", async (t) => {
  const uploads = await uploaded(t, MAX_BATCH + 1, "one");
  t.strictSame(
    uploads.map((documents) => documents.length),
    [MAX_BATCH, 1],
  );
});

t.test("an upload has 8 MiB of sealed texts at most", async (t) => {
  const uploads = await uploaded(t, 120, "x".repeat(60_000));
  t.equal(uploads.length, 2);
  for (const documents of uploads)
    t.ok(documents.reduce((sum, { sealed }) => sum + sealed.length, 0) <= 8 * 1024 * 1024);
});
