// Holds: which rights a person who signs in gets, and how long (lib/hub/access/person-keys.ts)
// Holds: which identity provider is asked (lib/hub/features/sign-on/sign-on.ts)
import t, { type Test } from "tap";
import { createHub } from "../../../lib/hub/hub.ts";
import { pages } from "../../../lib/web/pages.ts";
import { createProject, type RunningHub, startHub } from "../../support/hub/harness.ts";
import { startIssuer } from "../../support/hub/issuer.ts";
import { signOnBy } from "../../support/hub/sign-on.ts";
import { Visitor } from "../../support/hub/web.ts";

const SCOPES = ["keys", "projects", "read"] as const;

async function world(t: Test) {
  const issuer = await startIssuer(t);
  const hub = await startHub(t, { ...signOnBy(issuer, [{ scopes: SCOPES }, { value: "all", scopes: ["admin"] }]) });
  const visitor = new Visitor(hub.url);
  const signOn = async (next = "/keys") => {
    const { headers } = await visitor.request(`/sign-in/oidc?next=${encodeURIComponent(next)}`);
    return visitor.request(issuer.answer(headers.get("location")!));
  };
  return { issuer, hub, visitor, signOn };
}

const deedsOf = async (hub: RunningHub) =>
  ((await hub.call("GET", "/devkeys/audit")).body as { items: Record<string, unknown>[] }).items;

t.test("somebody whom the identity provider names gets a session with the rights of a grant", async (t) => {
  const { issuer, hub, visitor, signOn } = await world(t);
  t.match((await visitor.request("/sign-in?next=%2Fkeys")).html, /href="\/sign-in\/oidc\?next=%2Fkeys"/);
  const { status, html, headers } = await signOn();
  t.equal(status, 200);
  t.match(html, /http-equiv="refresh" content="0;url=\/keys"/i, "the browser goes on by itself");
  const set = headers.getSetCookie();
  t.ok(set.some((line) => /^sealift-session=slw_.*HttpOnly; SameSite=Strict; Max-Age=28800/.test(line)));
  t.ok(set.some((line) => /^sealift-attempt=;.*SameSite=Lax; Max-Age=0/.test(line)));
  const keys = await visitor.request("/keys");
  t.equal(keys.status, 200);
  t.match(keys.html, `alice by ${issuer.url}`);
  t.equal((await visitor.request("/audit")).status, 404, "no administrator");

  const made = await visitor.submit("/keys", "/keys", { name: "by hand", scope: "read" });
  t.match(made.html, "slk_");
  const named = { issuer: issuer.url, person: "alice", by: "web" };
  t.match((await deedsOf(hub)).slice(0, 2), [
    { action: "key.create", actor: "acme", facts: named },
    { action: "web.sign-in", actor: "acme", facts: { ...named, owner: "acme", scopes: SCOPES.join(" ") } },
  ]);
  const signIn = (await deedsOf(hub)).find(({ action }) => action === "web.sign-in") as { facts: object };
  t.notOk("revoked" in signIn.facts, "no key of before has ended");
  const { body } = await hub.call("GET", "/devkeys/api-keys");
  const listed = (body as { items: { id: string; name: string; prefix: string; expires_at: string }[] }).items;
  const [own] = listed.filter(({ prefix }) => prefix === "web");
  const [child] = listed.filter(({ name }) => name === "by hand");
  t.equal(child!.expires_at, own!.expires_at, "a key that the session makes ends with it");

  await signOn();
  const again = (await hub.call("GET", "/devkeys/api-keys")).body as { items: unknown[] };
  t.equal(again.items.length, listed.length, "who comes again has the key of before");
  await hub.call("DELETE", `/devkeys/api-keys/${own!.id}`);
  const { headers: ended } = await visitor.request("/keys");
  t.match(ended.get("location"), "/sign-in", "a revoked key ends the session");
  await signOn();
  t.equal((await visitor.request("/keys")).status, 200, "another sign-in is another key");
});

t.test("a session ends with its hours, and when its grant is changed or gone", async (t) => {
  const issuer = await startIssuer(t);
  let now = Date.now();
  const grants = [{ scopes: SCOPES }];
  const hub = await startHub(t, { ...signOnBy(issuer, grants), clock: () => now });
  const visitor = new Visitor(hub.url);
  const { headers } = await visitor.request("/sign-in/oidc");
  await visitor.request(issuer.answer(headers.get("location")!));
  const { cookies: cookie } = visitor;
  t.equal((await visitor.request("/keys")).status, 200);
  await hub.hub.close();
  for (const [name, options, status] of [
    ["another hub of the database", signOnBy(issuer, [...grants, { value: "more" }]), 200],
    ["other scopes", signOnBy(issuer, [{ scopes: ["read"] }]), 303],
    ["another owner", signOnBy(issuer, [{ scopes: SCOPES, owner: "else" }]), 303],
    ["no grant", signOnBy(issuer, []), 303],
    ["another claim", signOnBy(issuer, grants, { claim: "roles" }), 303],
    ["no identity provider", undefined, 303],
  ] as const) {
    const listen = { host: "127.0.0.1", port: 0 };
    const later = await createHub({ dataDir: hub.dataDir, listen, web: pages, clock: () => now, ...options });
    const url = await later.listen();
    const got = await new Visitor(url).request("/keys", { headers: { cookie } });
    t.equal(got.status, status, name);
    if (status === 200) {
      now += 8 * 60 * 60 * 1000;
      t.equal((await new Visitor(url).request("/keys", { headers: { cookie } })).status, 303, "after its hours");
      now -= 8 * 60 * 60 * 1000;
    }
    await later.close();
  }
});

t.test("a person who signs in with other rights, or with none, has no session with those of before", async (t) => {
  const { issuer, hub, visitor, signOn } = await world(t);
  const other = new Visitor(hub.url);
  const signInAt = async (where: Visitor) => {
    const { headers } = await where.request("/sign-in/oidc");
    return (await where.request(issuer.answer(headers.get("location")!))).status;
  };
  const statusOf = async (where: Visitor) => (await where.request("/hub")).status;
  issuer.claims = { sub: "alice", groups: ["all"] };
  await signOn();
  t.equal(await statusOf(visitor), 200, "an administrator");
  issuer.claims = { sub: "bob", groups: ["all"] };
  const bob = new Visitor(hub.url);
  await signInAt(bob);

  issuer.claims = { sub: "alice", groups: ["ops"] };
  t.equal(await signInAt(other), 200);
  t.equal(await statusOf(visitor), 303, "the older session has ended");
  t.equal((await other.request("/keys")).status, 200);
  const [deed] = await deedsOf(hub);
  t.match(deed, { action: "web.sign-in", facts: { revoked: /^key_/ } });
  const same = new Visitor(hub.url);
  t.equal(await signInAt(same), 200);
  t.equal((await other.request("/keys")).status, 200, "a session with the same rights goes on");

  issuer.claims = { sub: "alice", groups: [] };
  t.equal(await signInAt(visitor), 403);
  t.equal((await other.request("/keys")).status, 303, "nothing is left of a person without a grant");
  t.equal(await statusOf(bob), 200, "others keep theirs");
});

t.test("a grant opens a project of its own owner, and no other", async (t) => {
  const issuer = await startIssuer(t);
  const dataDir = `${t.testdir()}/hub`;
  const before = await startHub(t, { dataDir });
  const [mine, bobs] = [await createProject(before), await createProject(before)];
  for (const [{ id }, owner] of [
    [mine, "acme"],
    [bobs, "bob"],
  ] as const) {
    await before.call("POST", "/devkeys/api-keys", { json: { name: owner, owner } });
    t.match(await before.call("POST", `/devkeys/projects/${id}/transfer`, { json: { owner } }), { status: 200 });
  }
  await before.hub.close();
  for (const [projectId, owner, status] of [
    [mine.id, "acme", 200],
    [bobs.id, "acme", 403],
    [bobs.id, "bob", 200],
    ["prj_0000000000000000", "acme", 403],
  ] as const) {
    const hub = await startHub(t, { dataDir, ...signOnBy(issuer, [{ owner, projectId, scopes: ["read"] }]) });
    const visitor = new Visitor(hub.url);
    const { headers } = await visitor.request("/sign-in/oidc");
    const answer = await visitor.request(issuer.answer(headers.get("location")!));
    t.equal(answer.status, status, `${owner} and the project of ${projectId === mine.id ? "acme" : "bob, or none"}`);
    if (status === 403) t.match(answer.html, /grants you a project that is not there/);
    await hub.hub.close();
  }
});

t.test("a hub without an identity provider, and one whose does not answer, say so", async (t) => {
  const plain = await startHub(t, { dataDir: `${t.testdir()}/plain` });
  t.notMatch((await new Visitor(plain.url).request("/sign-in")).html, "oidc");
  for (const path of ["/sign-in/oidc", "/sign-in/oidc/callback?code=a&state=b"])
    t.equal((await new Visitor(plain.url).request(path)).status, 404);
  const issuer = await startIssuer(t);
  const signOn = signOnBy(issuer, [{}], { issuer: "http://127.0.0.1:1" });
  const hub = await startHub(t, { dataDir: `${t.testdir()}/hub`, ...signOn });
  const { status, html } = await new Visitor(hub.url).request("/sign-in/oidc");
  t.equal(status, 503);
  t.match(html, "The identity provider does not answer");
});

t.test("the identity provider's endpoints and keys are asked for once an hour", async (t) => {
  const issuer = await startIssuer(t);
  let now = Date.now();
  const hub = await startHub(t, { ...signOnBy(issuer, [{}]), clock: () => now });
  const discoveries = async () => {
    t.equal((await new Visitor(hub.url).request("/sign-in/oidc")).status, 303);
    return issuer.asked.filter((path) => path.startsWith("/.well-known/")).length;
  };
  t.equal(await discoveries(), 1);
  now += 59 * 60 * 1000;
  t.equal(await discoveries(), 1);
  now += 60 * 1000;
  t.equal(await discoveries(), 2);
});

t.test("an identity provider without TLS is asked on this machine only", async (t) => {
  const issuer = await startIssuer(t, "0.0.0.0");
  const hub = await startHub(t, signOnBy(issuer, [{}]));
  t.equal((await new Visitor(hub.url).request("/sign-in/oidc")).status, 503);
  t.strictSame(issuer.asked, []);
});
