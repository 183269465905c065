import t from "tap";
import { startHub } from "../../support/hub/harness.ts";
import { Visitor } from "../../support/hub/web.ts";

interface IssuedKey {
  id: string;
  name: string;
  key: string;
}

t.test("the page of keys has a form for each key that the caller may revoke, and for no other one", async (t) => {
  const hub = await startHub(t);
  const issue = async (json: object): Promise<IssuedKey> =>
    (await hub.call("POST", "/devkeys/api-keys", { json: { name: "some", ...json } })).body as IssuedKey;
  const greater = await issue({ scopes: ["publish", "read"] });
  const equal = await issue({ scopes: ["read"] });
  const own = await issue({ scopes: ["keys", "read"] });
  const visitor = await new Visitor(hub.url).signIn(own.key);
  const { html } = await visitor.request("/keys");
  t.match(html, "publish, read", "it sees the greater one");
  t.notMatch(html, `/keys/${greater.id}/revoke`);
  for (const { id } of [equal, own]) {
    t.match(html, `/keys/${id}/revoke`);
    t.equal((await visitor.submit("/keys", `/keys/${id}/revoke`)).status, 303);
  }
});

t.test("a key for which nobody has chosen a right is not made", async (t) => {
  const hub = await startHub(t);
  const visitor = await new Visitor(hub.url).signIn(hub.adminKey);
  const { status, html } = await visitor.submit("/keys", "/keys", { name: "without", days: "30" });
  t.equal(status, 422);
  t.match(html, "choose at least one right");
  const { body } = await hub.call("GET", "/devkeys/api-keys");
  const names = (body.items as IssuedKey[]).map(({ name }) => name);
  t.strictSame(names, ["administrator"]);
});

t.test("an administrator names the person whom a new key stands for, and nobody else is asked", async (t) => {
  const hub = await startHub(t);
  const visitor = await new Visitor(hub.url).signIn(hub.adminKey);
  const fields = { name: "approver", days: "30", scope: "projects", acts_for: "ada@example.org" };
  t.equal((await visitor.submit("/keys", "/keys", fields)).status, 200);
  const { body } = await hub.call("GET", "/devkeys/audit?action=key.create");
  t.match(body.items, [{ facts: { acts_for: "ada@example.org" } }]);
  const json = { name: "other", scopes: ["keys"] };
  const { key } = (await hub.call("POST", "/devkeys/api-keys", { json })).body as IssuedKey;
  const other = await new Visitor(hub.url).signIn(key);
  t.notMatch((await other.request("/keys")).html, "acts_for");
});
