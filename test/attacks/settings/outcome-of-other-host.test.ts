// Holds: which outcomes a hub keeps (lib/hub/features/settings/routes.ts)
import t from "tap";
import { hostKeyOf, newHostSeed } from "../../../lib/artifact/sealed/host-key.ts";
import { signOutcome } from "../../../lib/artifact/sealed/settings.ts";
import { MAX_OUTCOME_BYTES, MOST_AHEAD } from "../../../lib/contract/settings/limits.ts";
import { isErrorBody, startHub } from "../../support/hub/harness.ts";
import { withSettings } from "../../support/hub/settings.ts";

t.test("a host says what became of its own settings, and of no other's", async (t) => {
  const hub = await startHub(t);
  const { host, sendCard, say, shown, upload } = await withSettings(hub);
  const elsewhere = await withSettings(hub);
  const [seven, eight] = [await host("pier-7"), await host("pier-8")];
  for (const each of [seven, eight]) await sendCard(each);
  await upload([seven.document(1, null), eight.document(1, null)]);
  isErrorBody(t, await say(eight.api, seven.outcome(1)), 422, "outcome_invalid");
  // The stolen API key of a host is not its host.key.
  const thief = hostKeyOf(newHostSeed());
  const { signed } = JSON.parse(seven.outcome(1)) as { signed: Parameters<typeof signOutcome>[0] & { t: string } };
  isErrorBody(t, await say(seven.api, signOutcome(signed, thief)), 422, "outcome_invalid");
  const named = seven.outcome(1, { to: eight.key.fingerprint });
  isErrorBody(t, await say(seven.api, named), 422, "outcome_invalid");
  isErrorBody(t, await say(seven.api, seven.outcome(1, { project: elsewhere.id })), 422, "unprocessable");
  for (const text of ["{}", "[]", seven.card, seven.outcome(1).replace('"applied"', '"undone"')])
    isErrorBody(t, await say(seven.api, text), 422, "outcome_invalid");
  isErrorBody(t, await say(seven.api, " ".repeat(MAX_OUTCOME_BYTES + 1)), 422, "unprocessable");
  for (const number of [2 + MOST_AHEAD, Number.MAX_SAFE_INTEGER])
    isErrorBody(t, await say(seven.api, seven.outcome(number)), 422, "outcome_invalid");
  t.match(await shown(), [{ outcome: null }, { outcome: null }]);
  // A hub that was restored knows lower numbers than its hosts.
  for (const number of [1 + MOST_AHEAD, 1]) t.equal((await say(seven.api, seven.outcome(number))).status, 204);
});
