import t from "tap";
import { OwnSettingsClient, SettingsClient } from "../../../lib/client/settings.ts";
import { DOUBLE_KEY, startSettingsDouble } from "../../support/hub/settings-double.ts";
import { errorOf } from "../../support/hub/surface-b.ts";

const hubOf = (hubUrl: string, apiKey = DOUBLE_KEY) => ({ hubUrl, apiKey, timeoutMs: 5000 });
const TO = "ab".repeat(32);
const sealed = Buffer.from("sealed").toString("base64");
const document = (host_id: string, number: number, follows: number | null) => ({
  ...{ host_id, to: TO, number, follows, sealed },
});

t.test("an operator lists hosts page by page, uploads for several, and drops one", async (t) => {
  const hub = await startSettingsDouble(t);
  const client = new SettingsClient(hubOf(hub.url), hub.project);
  const names = Array.from({ length: 201 }, (_, index) => `pier-${String(index).padStart(3, "0")}`);
  for (const name of names) hub.put(name);
  const listed = await Array.fromAsync(client.list(), ({ host_id: host }) => host);
  t.strictSame(listed, names);
  t.equal(hub.calls.length, 2, "two pages");
  t.equal(await client.upload([document("pier-000", 1, null), document("pier-001", 1, null)]), 1);
  t.match(await Array.fromAsync(client.list("pier-001")), [{ host_id: "pier-001", number: 1, to: TO, outcome: null }]);
  const late = await errorOf(client.upload([document("pier-000", 1, null)]));
  t.match(late, { code: "settings_conflict", status: 409, hint: /Run the command again/ });
  await client.drop("pier-000");
  t.strictSame(await Array.fromAsync(client.list("pier-000")), []);
});

t.test("a host sends its card, reads what was sealed to it, and says what became of it", async (t) => {
  const hub = await startSettingsDouble(t);
  hub.put("pier-7");
  const host = new OwnSettingsClient(hubOf(hub.url, "slk_pier-7"), hub.project);
  t.equal(await host.sendCard({ card: "a card", terms: "terms" }), true);
  t.match(hub.rows.get("pier-7"), { card: "a card", terms: "terms" });
  t.equal(await host.read(), undefined, "before the first");
  await new SettingsClient(hubOf(hub.url), hub.project).upload([document("pier-7", 3, null)]);
  t.strictSame(await host.read(), { to: TO, number: 3, sealed });
  await host.sendOutcome("what became of it");
  t.match(hub.rows.get("pier-7"), { outcome: "what became of it" });
});

t.test("a hub from before settings takes no card and has no settings, and other refusals are errors", async (t) => {
  const hub = await startSettingsDouble(t);
  const older = new OwnSettingsClient(hubOf(hub.url, "slk_pier-7"), "prj_another00001");
  t.equal(await older.sendCard({ card: "a card" }), false);
  t.equal(await older.read(), undefined);
  const stranger = new OwnSettingsClient(hubOf(hub.url, "slk_nobody"), hub.project);
  for (const call of [
    () => stranger.sendCard({ card: "a card" }),
    () => stranger.read(),
    () => stranger.sendOutcome("x"),
  ])
    t.match(await errorOf(call()), { kind: "AuthenticationError", code: "forbidden" });
});
