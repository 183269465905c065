// Holds: who may approve (lib/hub/features/staging/approve.ts, lib/hub/features/staging/records.ts)
/**
 * Every kind of key stages a version, and every kind would approve it: those of the same people may not, those of
 * others may. Nothing changes when the key that staged it is gone.
 */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import t, { type Test } from "tap";
import { startIssuer } from "../../support/hub/issuer.ts";
import { startWorkflow } from "../../support/hub/publishers.ts";
import { signOnBy } from "../../support/hub/sign-on.ts";
import { type StagingHub, startStaging } from "../../support/hub/staging.ts";
import { Visitor } from "../../support/hub/web.ts";

const SCOPES = ["keys", "projects", "publish", "deploy", "report", "read"] as const;

/** One who stages or approves. */
interface Party {
  name: string;
  /** Names of those who stand behind it. */
  ends: readonly string[];
  key: string;
}

/** Makes one key of every kind, for alice, who has signed on, and for those who got a key from the administrator. */
async function parties(t: Test): Promise<{ staging: StagingHub; all: Party[] }> {
  const issuer = await startIssuer(t);
  const signOn = signOnBy(issuer, [{ scopes: [...SCOPES], owner: "acme" }]);
  const staging = await startStaging(t, { ...signOn, issuerAllow: ["127.0.0.1"], rateLimits: false });
  const { hub, project } = staging;
  const { trust, run, exchange } = await startWorkflow(t, { hub });
  const issue = async (by: string | undefined, json: object) => {
    const request = { json: { name: "k", scopes: SCOPES, ...json }, ...(by !== undefined && { key: by }) };
    return (await hub.call("POST", "/devkeys/api-keys", request)).body as { id: string; key: string };
  };
  const given = await hub.call("POST", `/devkeys/projects/${project}/transfer`, { json: { owner: "admin" } });
  t.equal(given.status, 409, "it is the administrator's");
  await issue(undefined, { owner: "acme" });
  t.equal((await hub.call("POST", `/devkeys/projects/${project}/transfer`, { json: { owner: "acme" } })).status, 200);

  const alice = new Visitor(hub.url);
  const { headers } = await alice.request("/sign-in/oidc");
  await alice.request(issuer.answer(headers.get("location")!));
  const { html } = await alice.submit("/keys", "/keys", { name: "by hand", scope: "publish" });
  const ofSession = /slk_[\w-]{20,}/.exec(html)![0];

  const mate = await issue(undefined, { owner: "acme" });
  const other = await issue(undefined, { owner: "acme" });
  const named = await issue(undefined, { owner: "acme", acts_for: `alice by ${issuer.url}` });
  const child = await issue(mate.key, { scopes: ["publish"] });
  const old = await issue(mate.key, { scopes: ["publish"] });
  const rotated = (await hub.call("POST", `/devkeys/api-keys/${old.id}/rotate`, { key: old.key })).body as typeof old;
  await trust({ target: `project:${project}` }, mate.key);
  const keyOfRun = async (run_id: string) =>
    (await exchange(`project:${project}`, await run({ run_id }))).body.key as string;
  // A bound key of the former owner, which has come along with its project.
  const bound = await issue(undefined, { owner: "acme", project_id: project, scopes: ["publish"] });
  await issue(undefined, { owner: "next" });
  const transfer = (owner: string) =>
    hub.call("POST", `/devkeys/projects/${project}/transfer`, { json: { owner, keep_keys: true } });
  t.equal((await transfer("next")).status, 200);
  t.equal((await transfer("acme")).status, 200);
  return {
    staging,
    all: [
      { name: "session", ends: ["alice"], key: ofSession },
      { name: "issued for a person", ends: ["alice"], key: named.key },
      { name: "made by an administrator", ends: ["other"], key: other.key },
      { name: "the owner", ends: ["mate"], key: mate.key },
      { name: "made by the owner", ends: ["mate"], key: child.key },
      { name: "rotated", ends: ["mate"], key: rotated.key },
      { name: "run", ends: ["run 1", "mate"], key: await keyOfRun("1") },
      { name: "second run", ends: ["run 2", "mate"], key: await keyOfRun("2") },
      { name: "transferred", ends: ["bound"], key: bound.key },
      { name: "administrator", ends: ["administrator"], key: hub.adminKey },
    ],
  };
}

t.test("people who stand behind a staged version approve it by no key", async (t) => {
  const { staging, all } = await parties(t);
  const { hub, upload, project: project_id } = staging;
  let number = 0;
  /** Has a party stage a version for each approver, and each approver try. */
  const tried = async (stager: Party, then: string, between: () => Promise<AsyncDisposable | undefined>) => {
    const staged: { version: string; sha256: string }[] = [];
    for (const _ of all) {
      const version = `1.${++number}.0`;
      const { status, body } = await upload(stager.key, version, "true");
      t.equal(status, 201, `${stager.name} stages`);
      staged.push({ version, sha256: body.artifact_sha256 as string });
    }
    await using _gone = await between();
    for (const [at, approver] of all.entries()) {
      if (_gone !== undefined && approver === stager) continue;
      const json = { versions: [{ project_id, ...staged[at]! }] };
      const meets = stager.ends.some((end) => approver.ends.includes(end));
      const { status, body } = await hub.call("POST", "/devkeys/staging/approve", { key: approver.key, json });
      const wanted = meets ? "403 own_approval" : "200 undefined";
      t.equal(`${status} ${body.code}`, wanted, `${stager.name}${then}, then ${approver.name}`);
    }
  };
  for (const stager of all) await tried(stager, "", async () => undefined);
  for (const stager of all)
    await tried(stager, ", whose key is gone", async () => {
      const { id } = (await hub.call("GET", "/devkeys/key", { key: stager.key })).body as { id: string };
      return without(hub.dataDir, id);
    });
});

/** Takes a key out of a database, as the hub does once it has ended long ago; it is back when disposed. */
function without(dataDir: string, id: string): AsyncDisposable {
  const database = new DatabaseSync(join(dataDir, "hub.sqlite"), { timeout: 10_000 });
  const row = database.prepare("select * from api_keys where id = ?").get(id)!;
  database.prepare("delete from publisher_keys where key_id = ?").run(id);
  database.prepare("delete from api_keys where id = ?").run(id);
  const columns = Object.keys(row);
  return {
    async [Symbol.asyncDispose]() {
      const places = columns.map(() => "?").join(", ");
      database
        .prepare(`insert into api_keys (${columns.join(", ")}) values (${places})`)
        .run(...columns.map((column) => row[column]!));
      database.close();
    },
  };
}
