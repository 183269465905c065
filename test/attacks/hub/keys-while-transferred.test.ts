import t from "tap";
import { createProject, newSigner, startHub } from "../../support/hub/harness.ts";
import { startPostgresServer } from "../../support/hub/postgres-server.ts";

const ATTEMPTS = 12;

/** A former owner must not slip a key in between the hub's look at the owner and its writing. */
t.test("whoever makes keys and invites while a project is transferred keeps none of them", async (t) => {
  const server = await startPostgresServer(t);
  if (server === undefined) return t.plan(0, "PostgreSQL is not installed");
  const hub = await startHub(t, { databaseUrl: server.url, rateLimits: false });
  const issue = async (owner: string) => {
    const scopes = ["keys", "projects", "deploy", "publish", "report", "read"];
    const json = { name: owner, owner, scopes };
    return (await hub.call("POST", "/devkeys/api-keys", { json })).body.key as string;
  };
  const [former, next] = [await issue("former"), await issue("next")];
  const { id } = await createProject(hub);
  const at = `/devkeys/projects/${id}`;
  await hub.call("POST", `${at}/transfer`, { json: { owner: "former" } });
  const bound = (await hub.call("POST", "/devkeys/api-keys", { key: former, json: { name: "b", project_id: id } }))
    .body;

  const transferred = hub.call("POST", `${at}/transfer`, { json: { owner: "next" } });
  const signers = [newSigner().publicKey.toString("hex")];
  const asked = Array.from({ length: ATTEMPTS }, () => [
    hub.call("POST", "/devkeys/api-keys", { key: former, json: { name: "k", project_id: id, scopes: ["publish"] } }),
    hub.call("POST", `/devkeys/api-keys/${bound.id}/rotate`, { key: former }),
    hub.call("POST", `${at}/host-invites`, { key: former, json: { signers, expires_at: "2100-01-01T00:00:00Z" } }),
  ]).flat();
  t.equal((await transferred).status, 200);
  await Promise.all(asked);

  const { items: keys } = (await hub.call("GET", "/devkeys/api-keys?limit=200", { key: former })).body;
  const live = (keys as { project_id: string | null; revoked_at: string | null }[]).filter(
    ({ project_id: project, revoked_at: revoked }) => project === id && revoked === null,
  );
  t.strictSame(live, []);
  const { items: invites } = (await hub.call("GET", `${at}/host-invites?limit=100`, { key: next })).body;
  t.strictSame(
    (invites as { state: string }[]).filter(({ state }) => state === "open"),
    [],
  );
});
