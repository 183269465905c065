/** The author of a public plugin looks for the hosts of strangers in their kits of it, and ends the kits. */
import t from "tap";
import { startHub } from "../../support/hub/harness.ts";
import { offlineHost } from "../../support/hub/kits.ts";
import { publishedArchive } from "../../support/hub/published.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

t.test("the author sees and ends the own kits only", async (t) => {
  const hub = await startHub(t, { rateLimits: false });
  await (await publishedArchive(hub, "plugin", "tides", temporaryFolder(t))).publish("1.0.0");
  const plugin = (await hub.call("GET", "/app/marketplace/plugins/tides")).body["id"] as string;
  const keyFor = async (owner: string, more: object = {}) =>
    (
      await hub.call("POST", "/devkeys/api-keys", {
        json: { name: owner, owner, scopes: ["deploy", "read", "report"], ...more },
      })
    ).body["key"] as string;
  const author = await keyFor("author");
  const given = await hub.call("POST", `/devkeys/projects/${plugin}/transfer`, { json: { owner: "author" } });
  t.equal(given.status, 200, given.bytes.toString());
  const stranger = await keyFor("stranger");
  const json = {
    ...{ version: "1.0.0", hosts: [offlineHost("vault-of-the-bank").named], digest: "ab".repeat(32) },
    key: Buffer.alloc(32, 7).toString("base64"),
  };
  const made = await hub.call("POST", "/app/marketplace/plugins/tides/kits", { key: stranger, json });
  t.equal(made.status, 201);
  const { id } = made.body as { id: string };
  const seen = await hub.call("GET", `/devkeys/projects/${plugin}/kits`, { key: author });
  t.notMatch(seen.bytes.toString(), /vault-of-the-bank/, "fleets of strangers are not the author's to see");
  const ended = await hub.call("DELETE", `/devkeys/projects/${plugin}/kits/${id}`, { key: author });
  t.equal(ended.status, 404, "nor are their kits the author's to end");
  const own = await hub.call("POST", "/app/marketplace/plugins/tides/kits", { key: author, json });
  const { id: ownId } = own.body as { id: string };
  const list = async (key: string) =>
    ((await hub.call("GET", `/devkeys/projects/${plugin}/kits`, { key })).body["items"] as { id: string }[]).map(
      (kit) => kit.id,
    );
  t.strictSame(await list(author), [ownId]);
  t.strictSame(await list(stranger), [id]);
  t.strictSame(new Set(await list(hub.adminKey)), new Set([id, ownId]), "who runs the hub sees all");
  t.equal((await hub.call("DELETE", `/devkeys/projects/${plugin}/kits/${ownId}`, { key: author })).status, 204);
});
