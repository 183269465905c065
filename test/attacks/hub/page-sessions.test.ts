import t from "tap";
import { hashOf } from "../../../lib/hub/base/identity.ts";
import { startHub } from "../../support/hub/harness.ts";
import { Visitor } from "../../support/hub/web.ts";

t.test("no cookie or header but the hub's own is a session", async (t) => {
  const hub = await startHub(t);
  const other = await startHub(t, { dataDir: `${t.testdir()}/other` });
  const admin = await new Visitor(hub.url).signIn(hub.adminKey);
  const { cookies } = admin;
  const token = /sealift-session=([^;]+)/.exec(cookies)![1]!;
  const bytes = Buffer.from(token.slice(4), "base64url");
  const altered = (at: number): string => {
    const copy = Buffer.from(bytes);
    copy[at]! ^= 1;
    return `slw_${copy.toString("base64url")}`;
  };
  const foreign = (await new Visitor(other.url).signIn(other.adminKey)).cookies;
  const tries: Record<string, string> = {
    "another key": altered(0),
    "a later end": altered(34),
    "another MAC": altered(bytes.length - 1),
    "a shorter one": `slw_${bytes.subarray(1).toString("base64url")}`,
    "a key": hub.adminKey,
    "the key's hash": `slw_${hashOf(hub.adminKey)}`,
    nothing: "",
    "a long one": `slw_${"A".repeat(5000)}`,
    "another hub's": /sealift-session=([^;]+)/.exec(foreign)![1]!,
  };
  for (const [name, value] of Object.entries(tries)) {
    const { status } = await new Visitor(hub.url).request("/keys", { headers: { cookie: `sealift-session=${value}` } });
    t.equal(status, 303, name);
  }
  const bare = new Visitor(hub.url);
  t.equal((await bare.request("/keys", { headers: { "x-api-key": hub.adminKey } })).status, 303, "a page takes no key");
  t.equal((await admin.request("/keys")).status, 200);
});

t.test("nobody on the network calls the API as the pages do", async (t) => {
  const hub = await startHub(t);
  const hash = hashOf(hub.adminKey);
  const visitor = await new Visitor(hub.url).signIn(hub.adminKey);
  for (const mark of [`.${hash}`, hash, `${"0".repeat(64)}.${hash}`, `undefined.${hash}`]) {
    const headers = { "x-sealift-web": mark, "x-api-key": "signed-in" };
    t.equal((await hub.call("GET", "/devkeys/api-keys", { key: null, headers })).status, 401, mark);
  }
  const headers = { cookie: visitor.cookies };
  t.equal((await hub.call("GET", "/devkeys/api-keys", { key: null, headers })).status, 401, "the API takes no cookie");
});

t.test("a person who guesses keys on the page is held up as a program is", async (t) => {
  const hub = await startHub(t, { rateLimits: { failuresPerMinute: 3 } });
  const visitor = new Visitor(hub.url);
  const statuses: number[] = [];
  for (let guess = 0; guess < 6; guess++)
    statuses.push((await visitor.submit("/sign-in", "/sign-in", { key: `slk_guess-${guess}` })).status);
  t.ok(statuses.includes(429), statuses.join());
  t.equal(statuses[0], 401);
});
