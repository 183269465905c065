// Holds: which cards a hub keeps (lib/hub/features/settings/routes.ts)
import t from "tap";
import { makeCard } from "../../../lib/artifact/sealed/card.ts";
import { hostKeyOf, newHostSeed } from "../../../lib/artifact/sealed/host-key.ts";
import { signText } from "../../../lib/artifact/sealed/signed-text.ts";
import { makeTerms } from "../../../lib/artifact/sealed/terms.ts";
import { MAX_CARD_BYTES, MAX_TERMS_BYTES } from "../../../lib/contract/settings/limits.ts";
import { isErrorBody, startHub } from "../../support/hub/harness.ts";
import { withSettings } from "../../support/hub/settings.ts";

t.test("a card is of the project that its host is of, signed by the keys that it names", async (t) => {
  const hub = await startHub(t);
  const { id, host, sendCard, shown } = await withSettings(hub);
  const elsewhere = await withSettings(hub);
  const [pier, victim] = [await host("pier-7"), await host("pier-8")];
  const stranger = await elsewhere.host("pier-7");
  isErrorBody(t, await sendCard({ ...pier, card: stranger.card, terms: stranger.terms }), 422, "unprocessable");
  const bare = makeCard({ project: elsewhere.id, name: "pier-7" }, pier.key, undefined);
  t.match(await sendCard({ ...pier, card: bare }, { terms: undefined }), {
    ...{ status: 422, body: { error: "card: is of another project." } },
  });
  const facts = { labels: {}, uses: 1, pins: "ab".repeat(16), expires_at: "2999-01-01T00:00:00Z" };
  const theirs = makeTerms({ project: elsewhere.id, ...facts }, elsewhere.operatorSeed);
  const named = makeCard({ project: id, name: "pier-7" }, pier.key, { ...theirs.secret, digest: theirs.digest });
  t.match(await sendCard({ ...pier, card: named, terms: theirs.text }), {
    ...{ status: 422, body: { error: "terms: are of another project." } },
  });
  const ofOther = makeCard({ project: id, name: "pier-7" }, pier.key, {
    digest: "ab".repeat(32),
    seed: newHostSeed(),
  });
  isErrorBody(t, await sendCard({ ...pier, card: ofOther }), 422, "unprocessable");

  // The public keys of another host, signed by the thief's own key.
  const thief = hostKeyOf(newHostSeed());
  const { signed } = JSON.parse(victim.card) as { signed: object };
  isErrorBody(t, await sendCard({ ...pier, card: signText(signed, [thief.seed]) }), 422, "card_invalid");
  for (const card of ["{}", "null", pier.card.slice(0, -1), pier.card.replace('"v":1', '"v":1,"v":1')])
    isErrorBody(t, await sendCard({ ...pier, card }), 422, "card_invalid");
  isErrorBody(t, await sendCard({ ...pier, card: " ".repeat(MAX_CARD_BYTES + 1) }), 422, "unprocessable");
  isErrorBody(t, await sendCard({ ...pier, terms: " ".repeat(MAX_TERMS_BYTES + 1) }), 422, "unprocessable");
  isErrorBody(t, await sendCard({ ...pier, terms: pier.terms.replace("prod", "test") }), 422, "terms_invalid");
  t.match(await shown(), [{ card: null }, { card: null }]);
});
