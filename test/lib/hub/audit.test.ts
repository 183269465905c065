import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import t from "tap";
import { FEATURES } from "../../../lib/hub/features.ts";
import { renewAdminKeyOf } from "../../../lib/hub/keys/admin-key.ts";
import { rotateKek } from "../../../lib/hub/keys/rotate-kek.ts";
import { hmacOf, zipOf } from "../../support/hub/archives.ts";
import { createProject, isErrorBody, publication, startHub } from "../../support/hub/harness.ts";

interface Entry {
  action: string;
  actor: string;
  subject: string;
  facts: Record<string, unknown>;
  address: string;
  request_id: string;
  created_at: string;
}

t.test("the audit log says who did what to what, from where, and nothing that is secret", async (t) => {
  const hub = await startHub(t);
  const project = await createProject(hub);
  const what = publication("1.0.0");
  await project.publish(what);
  const alice = (
    await hub.call("POST", "/devkeys/api-keys", {
      json: { name: "a", owner: "alice", scopes: ["projects", "publish"] },
    })
  ).body as { key: string; id: string };
  const key = alice.key;
  await hub.call("POST", "/devkeys/projects", { key, json: { name: "Tide", kind: "plugin", slug: "tide" } });
  const archive = zipOf({ "plugin.yaml": "name: tide\n" });
  const form = new FormData();
  form.set("version", "1.0.0");
  form.set("signature", hmacOf(archive, "s"));
  form.set("archive", new Blob([new Uint8Array(archive)]), "archive.zip");
  const tide = "/app/marketplace/plugins/tide";
  await hub.call("POST", `${tide}/versions`, { key, form, headers: { "x-request-id": "publish-1" } });
  await hub.call("PATCH", tide, { key, json: { visibility: "private" } });
  await hub.call("POST", `${tide}/grants`, { key, json: { owner: "bob" } });
  await hub.call("DELETE", `${tide}/grants/bob`, { key });
  await hub.call("POST", `${tide}/versions/1.0.0/yank`, { key, json: { reason: "broken" } });
  await hub.call("DELETE", `${tide}/versions/1.0.0/yank`, { key });
  await hub.call("POST", "/devkeys/signing-key", { key, json: { secret: "a developer's own secret" } });
  await hub.call("DELETE", "/devkeys/signing-key", { key });
  isErrorBody(t, await hub.call("DELETE", "/devkeys/signing-key", { key }), 404, "not_found");
  await hub.call("DELETE", `/devkeys/api-keys/${alice.id}`);
  await rotateKek({ hooks: FEATURES, dataDir: hub.dataDir });

  const entries: Entry[] = [];
  for (let cursor: string | null = ""; cursor !== null;) {
    const page: { items: Entry[]; next: string | null } = (
      await hub.call("GET", `/devkeys/audit?limit=3&cursor=${cursor}`)
    ).body;
    entries.unshift(...page.items.toReversed());
    cursor = page.next;
  }
  t.strictSame(
    entries.map(({ action, actor, subject }) => `${actor} ${action} ${subject}`.replace(/(key|kek)_\w+/, "$1_")),
    [
      `admin project.create ${project.id}`,
      "admin key.create key_",
      `admin version.publish ${project.id}`,
      "admin key.create key_",
      `alice project.create ${entries[4]!.subject}`,
      "alice version.publish plugin/tide",
      "alice target.change plugin/tide",
      "alice grant.add plugin/tide",
      "alice grant.remove plugin/tide",
      "alice version.yank plugin/tide",
      "alice version.unyank plugin/tide",
      "alice signing-key.register alice",
      "alice signing-key.forget alice",
      "admin key.revoke key_",
      "operator kek.rotate kek_",
    ],
  );
  t.match(entries[5], { request_id: "publish-1", address: "127.0.0.1", facts: { version: "1.0.0" } });
  const text = JSON.stringify(entries);
  for (const secret of [hub.adminKey, key, project.key, project.credential, what.dek.toString("base64"), "own secret"])
    t.notOk(text.includes(secret));

  const since = encodeURIComponent(entries[9]!.created_at);
  const yanks = await hub.call("GET", `/devkeys/audit?since=${since}&action=version.yank&actor=alice`);
  t.equal((yanks.body.items as Entry[]).length, 1);
  isErrorBody(t, await hub.call("GET", "/devkeys/audit", { key: project.key }), 403, "forbidden");
  isErrorBody(t, await hub.call("GET", "/devkeys/audit", { key: null }), 401, "key_missing");
});

t.test("a deed whose entry cannot be written is not done, and one that changes nothing has no entry", async (t) => {
  const hub = await startHub(t);
  const project = await createProject(hub);
  const what = publication("1.0.0");
  await project.publish(what);
  t.equal((await project.publish(what)).status, 200, "the very same bytes once more");
  const { items } = (await hub.call("GET", "/devkeys/audit?action=version.publish")).body as { items: Entry[] };
  t.equal(items.length, 1);

  const database = new DatabaseSync(join(hub.dataDir, "hub.sqlite"), { timeout: 10_000 });
  t.teardown(() => database.close());
  database.exec("CREATE TRIGGER refuse BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'no entry'); END");
  t.equal((await project.publish(publication("1.1.0"))).status, 500);
  const tide = { name: "Tide", kind: "plugin", slug: "tide" };
  t.equal((await hub.call("POST", "/devkeys/projects", { json: tide })).status, 500);
  t.equal((await hub.call("DELETE", `/devkeys/api-keys/${project.keyId}`)).status, 500);
  database.exec("DROP TRIGGER refuse");
  const bearer = await project.session();
  const latest = await hub.call("GET", `/app/deploy/v1/projects/${project.id}/versions/latest`, { bearer });
  t.equal(latest.body.version, "1.0.0", "the key is alive, and the version was not published");
  t.equal((await hub.call("POST", "/devkeys/projects", { json: tide })).status, 201, "the slug is free");
});

t.test(
  "the administrator's key is made anew beside the running hub, and the log is kept for its own time",
  async (t) => {
    let now = Date.now();
    const hub = await startHub(t, { clock: () => now, keepAuditMs: 86_400_000 });
    await createProject(hub);
    const path = await renewAdminKeyOf({ hooks: FEATURES, dataDir: hub.dataDir });
    t.equal(path, join(hub.dataDir, "admin.key"));
    isErrorBody(t, await hub.call("GET", "/devkeys/audit"), 401, "key_rejected");
    const key = (await readFile(path, "utf8")).trim();
    const { items } = (await hub.call("GET", "/devkeys/audit", { key })).body as { items: Entry[] };
    t.match(items[0], { action: "admin-key.renew", actor: "operator" });
    now += 2 * 86_400_000;
    await hub.hub.upkeep.run();
    t.strictSame((await hub.call("GET", "/devkeys/audit", { key })).body.items, []);
  },
);
