// Holds: which terms an invite may have, and whom they admit (lib/hub/features/joining/terms.ts)
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import t from "tap";
import { makeTerms } from "../../../../../lib/artifact/sealed/terms.ts";
import { parseRoot } from "../../../../../lib/artifact/trust/root.ts";
import { fingerprintOf, rootFingerprint } from "../../../../../lib/contract/joining/token.ts";
import { MAX_TERMS_BYTES } from "../../../../../lib/contract/settings/limits.ts";
import { FEATURES } from "../../../../../lib/hub/features.ts";
import { CopiedTables } from "../../../../../lib/hub/records/copy.ts";
import { tablesOf } from "../../../../../lib/hub/records/schema.ts";
import { heldKey, rootChain } from "../../../../support/forged/roots.ts";
import { isErrorBody, type RunningHub, startHub } from "../../../../support/hub/harness.ts";
import { invited, ownSecrets, signerHex, soon } from "../../../../support/hub/joining.ts";
import { RACED, startRacedHubs } from "../../../../support/hub/two-hubs.ts";
import { rowsOf } from "../../../../support/past/rows.ts";
import { needs } from "../../../../support/programs/optional.ts";

const operator = randomBytes(32);

/** Returns a hub with a project, and a function that makes terms as its invites are. */
async function withTerms(hub: RunningHub) {
  const { project, at, signers, ...rest } = await invited(hub);
  const facts = { labels: { env: "prod" }, uses: 2, expires_at: soon() };
  const terms = (more: object = {}, seed = operator) =>
    makeTerms({ project: project.id, ...facts, pins: fingerprintOf(signers), ...more }, seed);
  const ask = (text: string, more: object = {}) =>
    hub.call("POST", `${at}/host-invites`, { json: { signers, ...facts, terms: text, ...more } });
  return { ...rest, hub, project, at, signers, facts, terms, ask };
}

const skip = (database: string) => ({ skip: database === "PostgreSQL" && needs("initdb") });

for (const database of RACED)
  t.test(
    `terms are kept, named by their digest, and given to hosts that join (${database})`,
    skip(database),
    async (t) => {
      const [first] = (await startRacedHubs(t, database))!;
      const { hub, at, terms, ask, invite, join } = await withTerms(first);
      const made = terms();
      const invitation = await ask(made.text);
      t.match(invitation, { status: 201, body: { terms_digest: made.digest } });
      t.notOk("terms" in invitation.body, "which only hosts get");
      const own = ownSecrets();
      const token = invitation.body["token"] as string;
      t.equal((await join(token, "pier-7", own)).body.terms, made.text);
      t.equal((await join(token, "pier-7", own)).body.terms, made.text, "and again");
      const { token: plain, ...record } = await invite();
      t.notOk("terms_digest" in record);
      t.notOk("terms" in (await join(plain, "pier-8")).body, "an invite without any answers as before");
      const listed = (await hub.call("GET", `${at}/host-invites`)).body.items as object[];
      t.strictSame(
        listed.map((each) => ["terms" in each, "terms_digest" in each]),
        [
          [false, false],
          [false, true],
        ],
      );
    },
  );

t.test("terms that say something else than the invite are refused", async (t) => {
  const { project, signers, terms, ask } = await withTerms(await startHub(t));
  const wrong = {
    project: { project: `${project.id.slice(0, -1)}x` },
    labels: { labels: { env: "test" } },
    uses: { uses: 3 },
    expires_at: { expires_at: soon(7_200_000) },
    pins: { pins: fingerprintOf([signerHex()]) },
  };
  for (const [name, more] of Object.entries(wrong)) {
    const answer = await ask(terms(more).text);
    isErrorBody(t, answer, 422, "unprocessable");
    t.match(answer.body["error"], new RegExp(`their ${name} is another`));
  }
  isErrorBody(t, await ask(terms({ pins: `root-${fingerprintOf(signers)}` }).text), 422, "unprocessable");
  t.equal((await ask(terms().text, { labels: { env: "prod" } })).status, 201);
  const named = { expires_at: "2031-05-06T07:08:09Z" };
  t.equal((await ask(terms(named).text, { expires_at: "2031-05-06T07:08:09.000Z" })).status, 201, "one moment");
});

t.test("terms pin a root by its digest", async (t) => {
  const { terms, ask } = await withTerms(await startHub(t));
  const chain = rootChain();
  const root = chain.version(1, [heldKey()]);
  const pins = `root-${rootFingerprint(parseRoot(root, "it").digest)}`;
  t.equal((await ask(terms({ pins }).text, { root, signers: undefined })).status, 201);
  isErrorBody(t, await ask(terms().text, { root, signers: undefined }), 422, "unprocessable");
});

t.test("terms that their operator has not signed, of another form or too large are refused", async (t) => {
  const { terms, ask } = await withTerms(await startHub(t));
  const { text } = terms();
  const forged = JSON.parse(text) as { signed: { uses: number }; signatures: unknown[] };
  forged.signed.uses = 200;
  for (const bad of [JSON.stringify(forged), text.slice(0, -1), "{}", "[]", text.replace('"v":1', '"v":1,"v":1')])
    isErrorBody(t, await ask(bad), 422, "terms_invalid");
  isErrorBody(t, await ask(" ".repeat(MAX_TERMS_BYTES + 1)), 422, "unprocessable");
  isErrorBody(t, await ask(text + "\u{1f600}".repeat(MAX_TERMS_BYTES / 4)), 422, "terms_invalid");
});

t.test("terms that name hosts admit these alone", async (t) => {
  const { terms, ask, join, list, at, hub } = await withTerms(await startHub(t));
  const { text } = terms({ hosts: ["pier-7", "pier-8"] });
  const token = (await ask(text)).body["token"] as string;
  isErrorBody(t, await join(token, "pier-9"), 403, "invite_other_host");
  isErrorBody(t, await join(token, "PIER-7"), 403, "invite_other_host");
  t.strictSame(await list(), []);
  t.match((await hub.call("GET", `${at}/host-invites`)).body.items, [{ used: 0 }], "which takes no use away");
  const own = ownSecrets();
  t.equal((await join(token, "pier-7", own)).status, 200);
  t.equal((await hub.call("PATCH", `${at}/joined-hosts/pier-7`, { json: { host_id: "pier-70" } })).status, 204);
  t.match(
    await join(token, "pier-7", own),
    { status: 200, body: { host_id: "pier-70" } },
    "one that was renamed stays",
  );
});

t.test("an invite of a backup from before there were terms is whole", async (t) => {
  const hub = await startHub(t);
  const { invite } = await invited(hub);
  await invite();
  const tables = new CopiedTables(tablesOf(FEATURES));
  const [row] = (await rowsOf(join(hub.dataDir, "hub.sqlite")))["host_invites"]!;
  const { terms: _terms, terms_digest: _digest, ...older } = row!;
  const before = tables.version.filter((migration) => migration < "0013");
  t.equal(tables.faultOf({ table: "host_invites", row: older as never }, before), undefined);
  t.match(tables.faultOf({ table: "host_invites", row: older as never }, tables.version), /terms/);
});
