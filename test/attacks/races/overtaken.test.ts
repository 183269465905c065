// Only in test:all: rounds of races.
/**
 * A request has looked at what it rests on, and waits for the target's row, which somebody else holds and changes.
 * What it did not see then must count: it looks again once it has the row.
 */
import pg from "pg";
import t, { type Test } from "tap";
import { newAuthor } from "../../support/host/author.ts";
import { authorHub, pluginOf, signatureFields } from "../../support/hub/author-hub.ts";
import { type Answer, publication, publishForm } from "../../support/hub/harness.ts";
import { startPostgres } from "../../support/hub/postgres-server.ts";
import { billOf, state, statedProject } from "../../support/hub/statements.ts";
import { until } from "../../support/until.ts";

async function connected(t: Test, connectionString: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  t.teardown(() => client.end());
  return client;
}

/** Makes changes while a request waits for a target's row. @returns the answer to the request */
async function overtaken(
  [rival, watcher]: readonly [pg.Client, pg.Client],
  id: string,
  changes: readonly string[],
  request: () => Promise<Answer>,
): Promise<Answer> {
  await rival.query("BEGIN");
  await rival.query("SELECT id FROM projects WHERE id = $1 FOR UPDATE", [id]);
  let isAnswered = false;
  const asked = request().finally(() => (isAnswered = true));
  const waiting = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
  await until(async () => isAnswered || (await watcher.query(waiting)).rows.length > 0);
  for (const change of changes) await rival.query(change);
  await rival.query("COMMIT");
  return asked;
}

t.test("nothing is published by a signer that is revoked while the publication waits for its target", async (t) => {
  const databaseUrl = await startPostgres(t);
  if (databaseUrl === undefined) return t.plan(0, "PostgreSQL is not installed");
  const { hub, publish, signer, sign } = await authorHub(t, { databaseUrl });
  const author = newAuthor();
  await publish("0.9.0");
  t.equal((await signer("add", author)).status, 201);
  const clients = [await connected(t, databaseUrl), await connected(t, databaseUrl)] as const;
  const restore = () => clients[0].query("UPDATE signers SET revoked_at = NULL");
  const revoke = ["UPDATE signers SET revoked_at = '2026-01-01T00:00:00.000Z', revoked_by = 'x'"];
  const refused = { status: 403, body: { code: "signer_refused" } };

  const plugin = (await hub.call("GET", "/devkeys/projects")).body.items[0].id as string;
  t.match(await overtaken(clients, plugin, revoke, () => publish("1.0.0", author)), refused, "an archive");
  await restore();
  const signing = () => sign("0.9.0", signatureFields(author, pluginOf("0.9.0")));
  t.match(await overtaken(clients, plugin, revoke, signing), refused, "a signature");

  const stated = await statedProject(hub);
  const json = { public_key: stated.signer!.publicKey.toString("hex") };
  t.equal((await hub.call("POST", `/devkeys/projects/${stated.id}/signers`, { json })).status, 201);
  const artifact = () => {
    const form = publishForm(publication("1.1.0", { signer: stated.signer! }));
    return hub.call("POST", `/app/deploy/v1/projects/${stated.id}/publish`, { form });
  };
  t.match(await overtaken(clients, stated.id, revoke, artifact), refused, "an artifact");
  await restore();
  const bill = billOf([{ name: "left-pad", version: "1.0.0" }]);
  t.match(await overtaken(clients, stated.id, revoke, () => state(stated, "sbom", bill)), refused, "a statement");
});

t.test("a bound key makes keys for whoever its project belongs to when they are made", async (t) => {
  const databaseUrl = await startPostgres(t);
  if (databaseUrl === undefined) return t.plan(0, "PostgreSQL is not installed");
  const { hub } = await authorHub(t, { databaseUrl });
  const clients = [await connected(t, databaseUrl), await connected(t, databaseUrl)] as const;
  const id = (await hub.call("GET", "/devkeys/projects")).body.items[0].id as string;
  const scopes = ["keys", "publish"];
  const bound = await hub.call("POST", "/devkeys/api-keys", { json: { name: "b", project_id: id, scopes } });
  const { key, id: keyId } = bound.body as { id: string; key: string };
  const given = (owner: string) => [
    `UPDATE projects SET owner = '${owner}' WHERE id = '${id}'`,
    `UPDATE api_keys SET owner = '${owner}' WHERE project_id = '${id}'`,
  ];
  const create = () => hub.call("POST", "/devkeys/api-keys", { key, json: { name: "c", scopes: ["publish"] } });
  t.match(await overtaken(clients, id, given("one"), create), { status: 201, body: { owner: "one" } });
  const rotate = () => hub.call("POST", `/devkeys/api-keys/${keyId}/rotate`, { key });
  t.match(await overtaken(clients, id, given("two"), rotate), { status: 201, body: { owner: "two" } });
});
