// Holds: which word of a host about its settings counts, and how long others wait for it (lib/fleet/hearing.ts)
import t, { type Test } from "tap";
import { hostKeyOf, newHostSeed } from "../../../lib/artifact/sealed/host-key.ts";
import { signOutcome } from "../../../lib/artifact/sealed/settings.ts";
import { SettingsClient } from "../../../lib/client/settings.ts";
import type { SettingsOutcome } from "../../../lib/contract/settings/texts.ts";
import { heardOf, type Hearing, type Uploaded } from "../../../lib/fleet/hearing.ts";
import { DOUBLE_KEY, DOUBLE_PROJECT, startSettingsDouble } from "../../support/hub/settings-double.ts";
import { errorOf } from "../../support/hub/surface-b.ts";

const DIGEST = "cd".repeat(32);

/** Hosts whose document has the number 3, with what they say of it: nothing for null. */
async function hearingOf(t: Test, said: Record<string, Partial<SettingsOutcome> | null>) {
  const hub = await startSettingsDouble(t);
  const documents: Uploaded[] = [];
  const say: Record<string, (more: Partial<SettingsOutcome>) => void> = {};
  for (const [name, first] of Object.entries(said)) {
    const key = hostKeyOf(newHostSeed());
    const { x25519, ed25519, fingerprint } = key;
    const facts = { labels: {}, named: true, terms: null, number: 3, document: DIGEST };
    documents.push({ host: { name, x25519, ed25519, fingerprint, ...facts }, number: 3, digest: DIGEST });
    const row = hub.put(name);
    say[name] = (more) => {
      const outcome = { number: 3, digest: DIGEST, state: "applied" as const, code: null, ignored: [] };
      const at = new Date().toISOString();
      row.outcome = signOutcome({ project: DOUBLE_PROJECT, to: fingerprint, ...outcome, at, ...more }, key);
    };
    if (first !== null) say[name](first);
  }
  const client = new SettingsClient({ hubUrl: hub.url, apiKey: DOUBLE_KEY, timeoutMs: 10_000 }, DOUBLE_PROJECT);
  const told: string[] = [];
  const hear = (more: Partial<Hearing> = {}) =>
    heardOf(documents, {
      ...{ client, project: DOUBLE_PROJECT, waitMs: 0, toTheEnd: false, later: 0, lookMs: 5 },
      ...{ tell: (host, { state }) => told.push(`${host} ${state}`), ...more },
    });
  return { hear, say, told };
}

t.test("hosts are heard that speak of their very document, once each", async (t) => {
  const { hear, say, told } = await hearingOf(t, {
    a: {},
    b: null,
    c: { number: 2, state: "failed", code: "unhealthy" },
  });
  const hearing = hear({ waitMs: 20_000 });
  setTimeout(() => say["b"]!({}), 50);
  setTimeout(() => say["c"]!({}), 100);
  const heard = await hearing;
  t.strictSame(
    heard.map(({ uploaded }) => uploaded.host.name),
    ["a", "b", "c"],
  );
  t.strictSame(told, ["a applied", "b applied", "c applied"]);
});

t.test("a host that has another document than it was given was given it by another operator", async (t) => {
  for (const [other, message] of [
    [{ digest: "ee".repeat(32) }, /a has another document with the number 3/],
    [{ number: 4 }, /a has a document with the number 4/],
    [{ number: 4, digest: "ee".repeat(32) }, /a has a document with the number 4/],
  ] as const) {
    const { hear } = await hearingOf(t, { a: other });
    t.match(await errorOf(hear()), { code: "settings_conflict", message });
  }
});

t.test("hosts that do not answer end the wait at its end, and a failure before it", async (t) => {
  const silent = await hearingOf(t, { a: {}, b: null, c: null });
  t.match(await errorOf(silent.hear({ waitMs: 50, later: 2 })), {
    ...{ code: "settings_unfinished", message: /b, c .*2 hosts of later waves were left/ },
  });
  const failed = { state: "failed", code: "unhealthy" } as const;
  const began = performance.now();
  const failing = await hearingOf(t, { a: failed, b: null });
  t.match(await errorOf(failing.hear({ waitMs: 600_000 })), { code: "settings_failed", message: /a could not use/ });
  t.ok(performance.now() - began < 60_000, "nobody is waited for after a failure");
});

t.test("with all hosts at once a failure counts when all are heard, or at the end of the wait", async (t) => {
  const failed = { state: "failed", code: "unhealthy" } as const;
  const { hear, say, told } = await hearingOf(t, { a: failed, b: null });
  setTimeout(() => say["b"]!({}), 100);
  t.match(await errorOf(hear({ toTheEnd: true, waitMs: 600_000 })), { code: "settings_failed" });
  t.strictSame(told, ["a failed", "b applied"]);
  const silent = await hearingOf(t, { a: failed, b: null });
  t.match(await errorOf(silent.hear({ toTheEnd: true, waitMs: 50 })), {
    ...{ code: "settings_failed", message: /b has not said anything yet/ },
  });
});
