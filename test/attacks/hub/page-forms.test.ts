import t from "tap";
import { startHub } from "../../support/hub/harness.ts";
import { Visitor } from "../../support/hub/web.ts";

t.test("no other site makes a signed-in browser do anything", async (t) => {
  const hub = await startHub(t);
  const { body } = await hub.call("POST", "/devkeys/api-keys", { json: { name: "victim", scopes: ["read"] } });
  const { id } = body as { id: string };
  const victim = await new Visitor(hub.url).signIn(hub.adminKey);
  const attacker = await new Visitor(hub.url).signIn(hub.adminKey);
  const path = `/keys/${id}/revoke`;
  const isLive = async () => {
    const { body } = await hub.call("GET", "/devkeys/api-keys");
    return (body as { items: { id: string; revoked_at: string | null }[] }).items.some(
      (key) => key.id === id && key.revoked_at === null,
    );
  };
  const token = await victim.token("/keys");
  const form = (form_token: string) => ({ method: "POST", body: new URLSearchParams({ form_token }) });
  const attempts: Record<string, [string, RequestInit]> = {
    "no token": [path, { method: "POST", body: new URLSearchParams() }],
    "another session's token": [path, form(await attacker.token("/keys"))],
    "the token of a visitor without a session": [path, form(await new Visitor(hub.url).token("/sign-in"))],
    "a changed token": [path, form(`${token.slice(0, -2)}AA`)],
    "a foreign origin": [path, { ...form(token), headers: { origin: "https://evil.example" } }],
    "a foreign origin with the hub's name in it": [
      path,
      { ...form(token), headers: { origin: `https://${new URL(hub.url).host}.evil.example` } },
    ],
    "no origin that a browser would tell": [path, { ...form(token), headers: { origin: "null" } }],
    "a cross-site request": [path, { ...form(token), headers: { "sec-fetch-site": "cross-site" } }],
    "another site of the same domain": [path, { ...form(token), headers: { "sec-fetch-site": "same-site" } }],
    "a body that is not a form": [
      path,
      {
        method: "POST",
        body: JSON.stringify({ form_token: token }),
        headers: { "content-type": "application/json" },
      },
    ],
    "a body that is text": [
      path,
      { method: "POST", body: `form_token=${token}`, headers: { "content-type": "text/plain" } },
    ],
  };
  for (const [name, [target, init]] of Object.entries(attempts)) {
    const { status } = await victim.request(target, init);
    t.ok(status === 403 || status === 415, `${name}: ${status}`);
    t.ok(await isLive(), name);
  }
  t.equal((await victim.request(`${path}?form_token=${token}`)).status, 404, "nothing is done by a link");
  t.equal((await new Visitor(hub.url).request(path, form(token))).status, 403, "a token without its cookie");
  t.ok(await isLive());
  const own = { ...form(token), headers: { origin: hub.url, "sec-fetch-site": "same-origin" } };
  t.equal((await victim.request(path, own)).status, 303, "the hub's own page can");
  t.notOk(await isLive());
});

t.test("no other site signs a browser in as somebody else, or out", async (t) => {
  const hub = await startHub(t);
  const visitor = new Visitor(hub.url);
  const body = new URLSearchParams({ key: hub.adminKey });
  t.equal((await visitor.request("/sign-in", { method: "POST", body })).status, 403);
  const foreign = { method: "POST", body: new URLSearchParams({ key: hub.adminKey, form_token: "x" }) };
  t.equal((await visitor.request("/sign-in", foreign)).status, 403);
  await visitor.signIn(hub.adminKey);
  t.equal((await visitor.request("/sign-out", { method: "POST", body: new URLSearchParams() })).status, 403);
  t.equal((await visitor.request("/")).status, 200);
});
