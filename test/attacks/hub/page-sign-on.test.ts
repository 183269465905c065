// Only in test:all: many requests for one rule, 5 s of a processor.
import type { JWTPayload } from "jose";
import t, { type Test } from "tap";
import type { Grant } from "../../../lib/hub/access/sign-in-way.ts";
import type { SignOnOptions } from "../../../lib/hub/features/sign-on/sign-on.ts";
import type { HubOptions } from "../../../lib/hub/hub.ts";
import { startHub } from "../../support/hub/harness.ts";
import { startIssuer } from "../../support/hub/issuer.ts";
import { signOnBy } from "../../support/hub/sign-on.ts";
import { Visitor } from "../../support/hub/web.ts";

async function world(
  t: Test,
  options: Partial<HubOptions> = {},
  { grants = [{}], more = {} }: { grants?: Partial<Grant>[]; more?: Partial<SignOnOptions> } = {},
) {
  const issuer = await startIssuer(t);
  const hub = await startHub(t, { ...signOnBy(issuer, grants, more), ...options });
  const begin = async (visitor: Visitor, next = "/"): Promise<string> => {
    const { headers } = await visitor.request(`/sign-in/oidc?next=${encodeURIComponent(next)}`);
    return headers.get("location")!;
  };
  /** Whether the browser has a session now. */
  const isIn = async (visitor: Visitor) => (await visitor.request("/quotas")).status === 200;
  return { issuer, hub, begin, isIn };
}

t.test("an answer counts in the browser that asked, once, and for its own question", async (t) => {
  const { issuer, hub, begin, isIn } = await world(t);
  const [attacker, victim] = [new Visitor(hub.url), new Visitor(hub.url)];
  const answer = issuer.answer(await begin(attacker));
  issuer.asked.length = 0;
  t.equal((await victim.request(answer)).status, 401, "a browser that has asked nothing");
  await begin(victim);
  const other = await victim.request(answer);
  t.equal(other.status, 401, "one that has asked something else");
  t.match(other.html, "the answer to another sign-in");
  t.notOk(issuer.asked.includes("/token"), "the code goes nowhere");
  t.notOk(await isIn(victim));

  const { cookies } = attacker;
  t.equal((await attacker.request(answer)).status, 200);
  t.ok(await isIn(attacker));
  const again = new Visitor(hub.url);
  again.cookies = cookies;
  t.equal((await again.request(answer)).status, 401, "a code that was used");
  t.notOk(await isIn(again));
});

t.test("an attempt that was altered, made up, or is too old is none", async (t) => {
  let now = Date.now();
  const { issuer, hub, begin, isIn } = await world(t, { clock: () => now });
  const other = await startHub(t, { dataDir: `${t.testdir()}/other`, ...signOnBy(issuer, [{}]) });
  const visitor = new Visitor(hub.url);
  const answer = issuer.answer(await begin(visitor));
  const attempt = /sealift-attempt=([^;]+)/.exec(visitor.cookies)![1]!;
  const bytes = Buffer.from(attempt, "base64url");
  for (const at of [0, 31, 32, 48, 53, bytes.length - 1]) {
    const copy = Buffer.from(bytes);
    copy[at]! ^= 1;
    const headers = { cookie: `sealift-attempt=${copy.toString("base64url")}` };
    t.equal((await new Visitor(hub.url).request(answer, { headers })).status, 401, `byte ${at}`);
  }
  for (const value of ["", "AAAA", "A".repeat(1500), "ä"]) {
    const headers = { cookie: `sealift-attempt=${encodeURIComponent(value)}` };
    t.equal((await new Visitor(hub.url).request(answer, { headers })).status, 401, value.slice(0, 10));
  }
  const headers = { cookie: `sealift-attempt=${attempt}` };
  t.equal((await new Visitor(other.url).request(answer, { headers })).status, 401, "another hub's");
  now += 10 * 60 * 1000;
  t.equal((await visitor.request(answer)).status, 401, "too old");
  t.notOk(await isIn(visitor));
});

t.test("no token counts that is not for this hub, this question and this moment", async (t) => {
  const { issuer, hub, begin, isIn } = await world(t, { rateLimits: false });
  const now = Math.floor(Date.now() / 1000);
  const lies: Record<string, (claims: JWTPayload) => JWTPayload> = {
    "another nonce": (claims) => ({ ...claims, nonce: "AAAA" }),
    "no nonce": ({ nonce: _nonce, ...claims }) => claims,
    "another audience": (claims) => ({ ...claims, aud: "another" }),
    "another party": (claims) => ({ ...claims, aud: ["hub", "another"], azp: "another" }),
    "another issuer": (claims) => ({ ...claims, iss: "https://evil.example" }),
    expired: (claims) => ({ ...claims, iat: now - 7200, exp: now - 3600 }),
    "from the future": (claims) => ({ ...claims, iat: now + 3600, exp: now + 7200 }),
    "no end": ({ exp: _exp, ...claims }) => claims,
    "no subject": ({ sub: _sub, ...claims }) => claims,
    "an empty subject": (claims) => ({ ...claims, sub: "" }),
    "a long subject": (claims) => ({ ...claims, sub: "a".repeat(256) }),
    "a subject that the database would store as another one": (claims) => ({ ...claims, sub: "\ud800" }),
    "a subject that PostgreSQL cannot store": (claims) => ({ ...claims, sub: "a\0b" }),
  };
  for (const [name, lie] of Object.entries(lies)) {
    issuer.change = lie;
    const visitor = new Visitor(hub.url);
    t.equal((await visitor.request(issuer.answer(await begin(visitor)))).status, 401, name);
    t.notOk(await isIn(visitor), name);
  }
  issuer.change = (claims) => claims;
  issuer.forges = true;
  const visitor = new Visitor(hub.url);
  t.equal((await visitor.request(issuer.answer(await begin(visitor)))).status, 401, "another key");
  t.notOk(await isIn(visitor));
});

t.test("somebody without a grant gets none, whatever the claim is", async (t) => {
  const { issuer, hub, begin, isIn } = await world(t);
  for (const groups of [[], ["op"], ["OPS"], "ops,all", { ops: true }, [["ops"]], null, undefined]) {
    issuer.claims = { sub: "mallory", groups };
    const visitor = new Visitor(hub.url);
    t.equal((await visitor.request(issuer.answer(await begin(visitor)))).status, 403, JSON.stringify(groups));
    t.notOk(await isIn(visitor));
  }
  const byMail = await world(
    t,
    { dataDir: `${t.testdir()}/mail` },
    { grants: [{ value: "a@example.org" }], more: { claim: "email" } },
  );
  for (const [verified, status] of [
    [undefined, 403],
    [false, 403],
    ["true", 403],
    [true, 200],
  ] as const) {
    byMail.issuer.claims = { sub: "alice", email: "a@example.org", email_verified: verified };
    const visitor = new Visitor(byMail.hub.url);
    const { status: got } = await visitor.request(byMail.issuer.answer(await byMail.begin(visitor)));
    t.equal(got, status, `an address that is verified: ${verified}`);
  }
});

t.test("signing in by the identity provider leads to a path of the hub, whatever the link says", async (t) => {
  const { issuer, hub, begin } = await world(t);
  for (const next of [
    "https://evil.example/",
    "//evil.example",
    "/\\evil.example",
    "javascript:alert(1)",
    "/.//evil",
  ]) {
    const visitor = new Visitor(hub.url);
    const address = await begin(visitor, next);
    t.equal(new URL(address).origin, issuer.url);
    t.equal(new URL(address).searchParams.get("redirect_uri"), `${hub.url}/sign-in/oidc/callback`);
    const { html } = await visitor.request(issuer.answer(address));
    t.match(html, /content="0;url=\/"/, next);
    t.notMatch(html, "evil");
  }
  const visitor = new Visitor(hub.url);
  const { html } = await visitor.request(issuer.answer(await begin(visitor, '/?q="><script>&a=b')));
  t.notMatch(html, "<script>");
});

t.test("a page shows of an identity provider's error no more than its word, and counts it", async (t) => {
  const { hub, begin } = await world(t, { rateLimits: { failuresPerMinute: 4 } });
  const statuses: number[] = [];
  for (const [error, shown] of [
    ["access_denied", "access_denied"],
    ["<script>alert(1)</script>", ""],
    ["Call 0900 and tell your key", ""],
  ] as const) {
    const visitor = new Visitor(hub.url);
    const state = new URL(await begin(visitor)).searchParams.get("state")!;
    const iss = new URL(await begin(new Visitor(hub.url))).origin;
    const query = new URLSearchParams({ error, error_description: "Call 0900", state, iss });
    const { status, html } = await visitor.request(`/sign-in/oidc/callback?${query.toString()}`);
    statuses.push(status);
    t.notMatch(html, /0900|<script>alert/);
    if (shown !== "") t.match(html, shown);
  }
  for (let guess = 0; guess < 4; guess++)
    statuses.push((await new Visitor(hub.url).request("/sign-in/oidc/callback?code=a&state=b")).status);
  t.equal(statuses[0], 401);
  t.ok(statuses.includes(429), statuses.join());
});
