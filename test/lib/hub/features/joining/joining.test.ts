// Holds: when the key of a joined host ends (lib/hub/features/joining/invite-records.ts)
// Holds: which keys of a host work (lib/hub/features/joining/host-records.ts)
import t from "tap";
import { hostsWith, projectHosts } from "../../../../../lib/client/joining.ts";
import { heldKey, rootChain } from "../../../../support/forged/roots.ts";
import { isErrorBody, publication, startHub } from "../../../../support/hub/harness.ts";
import { invited, ownSecrets, signerHex, soon } from "../../../../support/hub/joining.ts";
import { fleetOf } from "../../../../support/hub/project-fleet.ts";
import { QUICK } from "../../../../support/hub/rollouts.ts";

t.test("a host joins with a token, and its own key works at once, for this host alone", async (t) => {
  const hub = await startHub(t);
  const { project, signers, invite, join, enter, list } = await invited(hub);
  const { token, ...record } = await invite({ uses: 2, labels: { env: "prod" } });
  t.match(record, { state: "open", uses: 2, used: 0, approve: false, labels: { env: "prod" }, signers });
  t.match(token, /^sjt_[A-Za-z0-9_-]{43}$/);
  const own = ownSecrets();
  const joined = await join(token, "pier-7", own);
  t.strictSame(joined.body, {
    ...{ state: "joined", host_id: "pier-7", project_id: project.id, project_name: "Demo" },
    ...{ labels: { env: "prod" }, signers },
  });
  t.equal(await enter(own.key), 200);
  const { body: key } = await hub.call("GET", "/devkeys/key", { key: own.key });
  t.match(key, { name: "pier-7", host: "pier-7", project_id: project.id, scopes: ["deploy", "report"] });
  t.match(await list(), [{ host_id: "pier-7", state: "joined", invite_id: record.id, address: "127.0.0.1" }]);
});

t.test("the credential that a host brings releases the keys of artifacts", async (t) => {
  const hub = await startHub(t);
  const { project, invite, join } = await invited(hub);
  const own = ownSecrets();
  await join((await invite()).token, "pier-7", own);
  const json = { xdevkey: own.key, project_id: project.id };
  const session = await hub.call("POST", "/app/deploy/v1/auth", { key: null, json });
  const authorized = await hub.call("POST", "/app/deploy/v1/deployments/authorize", {
    bearer: session.body.access_token as string,
    json: {
      deployment_credential: own.deployment_credential,
      artifact_signature: Buffer.alloc(64).toString("base64"),
    },
  });
  isErrorBody(t, authorized, 404, "not_found");
});

t.test("an invite is listed without its token, is used up, ends, and can be revoked", async (t) => {
  let now = Date.now();
  const hub = await startHub(t, { clock: () => now });
  const { at, invite, join, enter } = await invited(hub);
  const one = await invite();
  const own = ownSecrets();
  t.equal((await join(one.token, "a", own)).status, 200);
  isErrorBody(t, await join(one.token, "b"), 403, "invite_ended");
  // Ids sort by the time of creation.
  now += 1000;
  const late = await invite({ expires_at: new Date(now + 60_000).toISOString() });
  now += 61_000;
  t.match(await join(late.token, "b"), { status: 403, body: { error: /^The invite expired at 2/ } });
  now += 1000;
  const ended = await invite({ uses: 5 });
  t.equal((await hub.call("DELETE", `${at}/host-invites/${ended.id}`)).status, 204);
  t.match(await join(ended.token, "b"), { status: 403, body: { error: "The invite was revoked." } });
  isErrorBody(t, await hub.call("DELETE", `${at}/host-invites/${ended.id}`), 404, "not_found");
  const listed = await hub.call("GET", `${at}/host-invites`);
  t.match(listed.body.items, [
    { id: ended.id, state: "revoked" },
    { id: late.id, state: "expired" },
    { id: one.id, state: "used", used: 1 },
  ]);
  for (const { token } of [one, late, ended]) t.notMatch(JSON.stringify(listed.body), token);
  t.equal(await enter(own.key), 200, "and whoever has joined stays");
});

t.test(
  "invites leave the list thirty days after they expired, but not while a host has yet to come back",
  async (t) => {
    let now = Date.now();
    const DAY_MS = 24 * 60 * 60 * 1000;
    const hub = await startHub(t, { clock: () => now });
    const { at, invite, join, enter } = await invited(hub);
    const [used, waited, revoked] = [await invite(), await invite({ approve: true }), await invite()];
    const lasting = await invite({ expires_at: new Date(now + 40 * DAY_MS).toISOString() });
    const [own, patient] = [ownSecrets(), ownSecrets()];
    await join(used.token, "a", own);
    await join(waited.token, "b", patient);
    await hub.call("DELETE", `${at}/host-invites/${revoked.id}`);
    const left = async () => {
      await hub.hub.upkeep.run();
      const { items } = (await hub.call("GET", `${at}/host-invites`)).body as { items: { id: string }[] };
      return new Set(items.map(({ id }) => id));
    };
    now += 30 * DAY_MS;
    t.strictSame(await left(), new Set([used, waited, revoked, lasting].map(({ id }) => id)));
    now += DAY_MS;
    t.strictSame(await left(), new Set([waited, lasting].map(({ id }) => id)));
    t.equal(await enter(own.key), 200, "the host stays");
    t.equal((await hub.call("POST", `${at}/joined-hosts/b/approve`)).status, 204);
    t.strictSame(await left(), new Set([waited, lasting].map(({ id }) => id)), "it may still come for its key");
    t.match((await join(waited.token, "b", patient)).body, { state: "joined" });
    t.strictSame(await left(), new Set([lasting.id]));
  },
);

t.test("a join that is repeated makes no second key, also when the invite is over", async (t) => {
  let now = Date.now();
  const hub = await startHub(t, { clock: () => now });
  const { invite, join, list } = await invited(hub);
  const { token } = await invite();
  const own = ownSecrets();
  const first = await join(token, "pier-7", own);
  now += 7_200_000;
  const again = await join(token, "pier-7", own);
  t.strictSame([again.status, again.body], [200, first.body]);
  t.strictSame((await join(token, "another-name", own)).body.host_id, "pier-7", "by its key, whatever its name");
  const keys = (await hub.call("GET", "/devkeys/api-keys")).body.items as { host: string | null }[];
  t.equal(keys.filter(({ host }) => host === "pier-7").length, 1);
  t.equal((await list()).length, 1);
});

t.test("a host that must be approved has nothing until somebody approves it", async (t) => {
  const hub = await startHub(t);
  const { at, invite, join, enter, list } = await invited(hub);
  const { token } = await invite({ approve: true });
  const own = ownSecrets();
  t.match((await join(token, "pier-7", own)).body, { state: "pending" });
  t.match((await join(token, "pier-7", own)).body, { state: "pending" });
  t.equal(await enter(own.key), 401);
  t.match(await list(), [{ state: "pending", version: null, heard_at: null }]);
  const approve = () => hub.call("POST", `${at}/joined-hosts/pier-7/approve`);
  t.equal((await approve()).status, 204);
  isErrorBody(t, await approve(), 409, "conflict");
  t.equal(await enter(own.key), 401, "it has to come back with its key");
  t.match(await list(), [{ state: "approved" }]);
  t.match((await join(token, "pier-7", own)).body, { state: "joined" });
  t.equal(await enter(own.key), 200);
  isErrorBody(t, await hub.call("POST", `${at}/joined-hosts/nobody/approve`), 404, "not_found");
});

t.test("a host whose invite was revoked while it waits is not approved any more", async (t) => {
  const hub = await startHub(t);
  const { at, invite, join, list } = await invited(hub);
  const { id, token } = await invite({ approve: true });
  const own = ownSecrets();
  await join(token, "pier-7", own);
  await hub.call("DELETE", `${at}/host-invites/${id}`);
  const refused = await hub.call("POST", `${at}/joined-hosts/pier-7/approve`);
  isErrorBody(t, refused, 409, "conflict");
  t.match(refused.body.error, /invite of pier-7 was revoked/);
  t.match(await list(), [{ state: "pending" }]);
  const actions = (await hub.call("GET", "/devkeys/audit?limit=200")).body.items as { action: string }[];
  t.notOk(actions.some(({ action }) => action === "host.approve"));

  t.equal((await hub.call("DELETE", `${at}/joined-hosts/pier-7`)).status, 204);
  const another = await invite();
  t.match((await join(another.token, "pier-7", own)).body, { state: "joined" }, "by another invite it comes in");
});

t.test("nobody joins twice under a name, or under one that has reported before", async (t) => {
  const hub = await startHub(t);
  const { project, invite, join } = await invited(hub);
  const { token } = await invite({ uses: 10 });
  await join(token, "pier-7");
  isErrorBody(t, await join(token, "pier-7"), 409, "host_taken");
  await (await fleetOf(hub, project)).report("veteran", "1.0.0");
  isErrorBody(t, await join(token, "veteran"), 409, "host_taken");
  const own = ownSecrets();
  await join(token, "pier-8", own);
  isErrorBody(t, await join((await invite()).token, "pier-9", own), 409, "conflict");
});

t.test("a removed host's key ends at once, and it leaves the fleet", async (t) => {
  const hub = await startHub(t);
  const { project, at, invite, join, enter, list } = await invited(hub);
  const own = ownSecrets();
  await join((await invite()).token, "pier-7", own);
  const json = { xdevkey: own.key, project_id: project.id };
  const open = async () =>
    (await hub.call("POST", "/app/deploy/v1/auth", { key: null, json })).body.access_token as string;
  const host = await fleetOf(hub, { ...project, key: own.key, session: open });
  await host.report("pier-7", "1.0.0", { labels: { env: "prod" } });
  t.match(await list(), [{ version: "1.0.0", heard_at: /^2/, labels: { env: "prod" } }]);
  t.equal((await hub.call("DELETE", `${at}/joined-hosts/pier-7`)).status, 204);
  t.equal((await host.report("pier-7", "1.0.0")).status, 401);
  t.equal((await host.latest("pier-7")).status, 401);
  t.equal(await enter(own.key), 401);
  const why = await hub.call("POST", "/app/deploy/v1/auth", { key: null, json });
  isErrorBody(t, why, 401, "host_removed");
  t.match(why.body.error, "The host pier-7 was removed");
  isErrorBody(t, await hub.call("GET", "/devkeys/key", { key: own.key }), 401, "host_removed");
  t.strictSame(await list(), []);
  t.strictSame((await hub.call("GET", `/app/deploy/v1/projects/${project.id}/hosts`)).body, {});
  isErrorBody(t, await hub.call("DELETE", `${at}/joined-hosts/pier-7`), 404, "not_found");
  t.equal((await join((await invite()).token, "pier-7")).status, 200, "the name is free again");
});

t.test("a host is renamed while it waits, and its key speaks for the new name", async (t) => {
  const hub = await startHub(t);
  const { at, invite, join } = await invited(hub);
  const { token } = await invite({ uses: 2, approve: true });
  const own = ownSecrets();
  await join(token, "localhost", own);
  await join(token, "pier-8");
  const rename = (host: string, to: string) =>
    hub.call("PATCH", `${at}/joined-hosts/${host}`, { json: { host_id: to } });
  isErrorBody(t, await rename("localhost", "pier-8"), 409, "host_taken");
  isErrorBody(t, await rename("nobody", "x"), 404, "not_found");
  t.equal((await rename("localhost", "pier-7")).status, 204);
  await hub.call("POST", `${at}/joined-hosts/pier-7/approve`);
  t.match((await join(token, "localhost", own)).body, { state: "joined", host_id: "pier-7" });
  t.equal((await rename("pier-7", "pier-9")).status, 204);
  t.equal((await hub.call("GET", "/devkeys/key", { key: own.key })).body.host, "pier-9");
});

t.test("a host that is renamed stays in the fleet, with what it runs", async (t) => {
  const hub = await startHub(t);
  const { project, at, invite, join, list } = await invited(hub);
  const own = ownSecrets();
  await join((await invite()).token, "pier-7", own);
  const json = { xdevkey: own.key, project_id: project.id };
  const open = async () =>
    (await hub.call("POST", "/app/deploy/v1/auth", { key: null, json })).body.access_token as string;
  const host = await fleetOf(hub, { ...project, key: own.key, session: open });
  await project.publish(publication("1.0.0"));
  await host.report("pier-7", "1.0.0", { labels: { env: "prod" } });
  await hub.call("PUT", `${at}/hosts/pier-7/labels`, {
    json: { labels: { env: "canary" } },
  });
  const view = async (query = "") =>
    (await hub.call("GET", `/app/deploy/v1/projects/${project.id}/hosts${query}`)).body as Record<string, unknown>;
  const { "pier-7": before } = await view();
  t.match(before, { version: "1.0.0", labels: { env: "canary" } });
  t.equal((await hub.call("PATCH", `${at}/joined-hosts/pier-7`, { json: { host_id: "pier-9" } })).status, 204);
  t.match(await view(), { "pier-9": { host_id: "pier-9", version: "1.0.0", labels: { env: "canary" } } });
  t.same(Object.keys(await view("?label=env%3Dcanary")), ["pier-9"]);
  t.same(Object.keys(await view()), ["pier-9"]);
  t.match(await list(), [{ host_id: "pier-9", version: "1.0.0", labels: { env: "canary" } }]);
  isErrorBody(t, await host.latest("pier-7"), 403, "other_host");
  const fleet = await fleetOf(hub, project);
  const rollout = await fleet.start({ version: "2.0.0", waves: ["env=canary", "100%"], ...QUICK });
  t.equal(rollout.status, 201, "a wave has it by its label");
});

t.test("hosts whose keys were made by hand are listed and removed, too", async (t) => {
  const hub = await startHub(t);
  const { project, at, list, enter } = await invited(hub);
  const made = await hub.call("POST", "/devkeys/api-keys", {
    json: { name: "k", project_id: project.id, host: "by-hand" },
  });
  t.match(await list(), [{ host_id: "by-hand", state: "joined", invite_id: null, address: "" }]);
  const rotated = await hub.call("POST", `/devkeys/api-keys/${made.body.id as string}/rotate`, { json: {} });
  t.equal((await hub.call("DELETE", `${at}/joined-hosts/by-hand`)).status, 204);
  for (const { body } of [made, rotated]) t.equal(await enter(body.key as string), 401);
});

t.test("a host whose key has been revoked by hand is listed as one that has ended", async (t) => {
  const hub = await startHub(t);
  const { invite, join, list } = await invited(hub);
  const own = ownSecrets();
  await join((await invite()).token, "pier-7", own);
  const { body } = await hub.call("GET", "/devkeys/key", { key: own.key });
  await hub.call("DELETE", `/devkeys/api-keys/${body.id as string}`);
  t.match(await list(), [{ host_id: "pier-7", state: "ended" }]);
});

t.test("only keys that manage keys invite, approve, rename and remove, and no further than they reach", async (t) => {
  const hub = await startHub(t);
  const { at, signers, invite, join } = await invited(hub);
  await join((await invite({ approve: true })).token, "pier-7");
  const issue = async (json: object) =>
    (await hub.call("POST", "/devkeys/api-keys", { json: { name: "k", ...json } })).body.key as string;
  const json = { signers, expires_at: soon() };
  const reader = await issue({ scopes: ["read", "deploy", "report"] });
  const stranger = await issue({ owner: "stranger", scopes: ["keys", "read", "deploy", "report"] });
  const narrow = await issue({ scopes: ["keys", "read"] });
  isErrorBody(t, await hub.call("POST", `${at}/host-invites`, { json, key: reader }), 403, "forbidden");
  isErrorBody(t, await hub.call("POST", `${at}/host-invites`, { json, key: stranger }), 404, "not_found");
  isErrorBody(t, await hub.call("POST", `${at}/host-invites`, { json, key: narrow }), 403, "forbidden");
  for (const [method, path, body] of [
    ["POST", "/joined-hosts/pier-7/approve", {}],
    ["PATCH", "/joined-hosts/pier-7", { host_id: "x" }],
    ["DELETE", "/joined-hosts/pier-7", undefined],
  ] as const) {
    const rest = body === undefined ? {} : { json: body };
    isErrorBody(t, await hub.call(method, at + path, { ...rest, key: reader }), 403, "forbidden");
    isErrorBody(t, await hub.call(method, at + path, { ...rest, key: stranger }), 404, "not_found");
  }
  t.equal((await hub.call("GET", `${at}/joined-hosts`, { key: reader })).status, 200);
  const ending = await issue({ scopes: ["keys", "deploy", "report", "read"], expires_at: soon(60_000) });
  const made = await hub.call("POST", `${at}/host-invites`, { json, key: ending });
  const own = ownSecrets();
  await join(made.body.token as string, "guest", own);
  t.ok((await hub.call("GET", "/devkeys/key", { key: own.key })).body.expires_at, "its hosts' keys end with its own");
});

t.test("a request that is not an invite or join is refused with what is wrong", async (t) => {
  const hub = await startHub(t);
  const { at, invite, join } = await invited(hub);
  const bad = (json: object) => hub.call("POST", `${at}/host-invites`, { json });
  const good = { signers: [signerHex()], expires_at: soon() };
  isErrorBody(t, await bad({ ...good, signers: [] }), 422, "unprocessable");
  isErrorBody(t, await bad({ ...good, signers: ["0".repeat(64)] }), 422, "unprocessable");
  isErrorBody(t, await bad({ ...good, uses: 0 }), 422, "unprocessable");
  isErrorBody(t, await bad({ ...good, expires_at: soon(-1000) }), 422, "unprocessable");
  isErrorBody(t, await bad({ ...good, labels: { "not a label": "x" } }), 422, "unprocessable");
  const plugin = await hub.call("POST", "/devkeys/projects", { json: { name: "P", kind: "plugin", slug: "p" } });
  const invites = `/devkeys/projects/${plugin.body.id as string}/host-invites`;
  isErrorBody(t, await hub.call("POST", invites, { json: good }), 422, "unprocessable");
  const { token } = await invite({ uses: 9 });
  for (const more of [{ key: "slk_short" }, { deployment_credential: "x" }, { host_id: ".." }, { host_id: "a b" }])
    isErrorBody(t, await join(token, "pier-7", more), 422, "unprocessable");
});

t.test("the invites of a project end when it goes to another owner, and its rows go with it", async (t) => {
  const hub = await startHub(t);
  const { project, at, invite, join } = await invited(hub);
  const { token } = await invite({ uses: 3 });
  await join(token, "pier-7");
  await hub.call("POST", "/devkeys/api-keys", { json: { name: "k", owner: "bob", scopes: ["read"] } });
  t.equal((await hub.call("POST", `${at}/transfer`, { json: { owner: "bob" } })).status, 200);
  isErrorBody(t, await join(token, "pier-8"), 403, "invite_ended");
  t.equal((await hub.call("DELETE", `/devkeys/projects/${project.id}?force=true`)).status, 200);
  isErrorBody(t, await join(token, "pier-8"), 401, "key_rejected");
});

t.test("a removed host comes back with another key by a new invite, not with the old one", async (t) => {
  const hub = await startHub(t);
  const { at, invite, join, enter } = await invited(hub);
  const own = ownSecrets();
  await join((await invite()).token, "pier-7", own);
  await hub.call("DELETE", `${at}/joined-hosts/pier-7`);
  const { token } = await invite();
  isErrorBody(t, await join(token, "pier-7", own), 401, "host_removed");
  const made = ownSecrets();
  t.match(await join(token, "pier-7", made), { status: 200, body: { state: "joined", host_id: "pier-7" } });
  t.strictSame([await enter(own.key), await enter(made.key)], [401, 200]);
});

t.test("names of hosts have one form, and no two differ by the case of A to Z alone", async (t) => {
  const hub = await startHub(t);
  const { at, invite, join } = await invited(hub);
  const { token } = await invite({ uses: 9 });
  t.equal((await join(token, "caf\u00e9-1")).status, 200);
  const other = await join(token, "cafe\u0301-1");
  isErrorBody(t, other, 422, "unprocessable");
  t.match(other.body, { error: /host_id.*must be in the Unicode form NFC/ });
  t.equal((await join(token, "h1")).status, 200);
  const upper = await join(token, "H1");
  isErrorBody(t, upper, 409, "host_taken");
  t.match(upper.body, { error: /is called h1/ });
  const key = { name: "k", host: "H1", project_id: at.split("/").at(-1), scopes: ["report"] };
  isErrorBody(t, await hub.call("POST", "/devkeys/api-keys", { json: key }), 409, "host_taken");
  t.equal((await join(token, "pier-7")).status, 200);
  const rename = (to: string) => hub.call("PATCH", `${at}/joined-hosts/pier-7`, { json: { host_id: to } });
  isErrorBody(t, await rename("H1"), 409, "host_taken");
  t.equal((await rename("PIER-7")).status, 204, "its own name in other letters");
  t.equal((await join(token, "\u00e9")).status, 200);
  t.equal((await join(token, "\u00c9")).status, 200, "databases know no other letters' case");
});

t.test("an invite carries signers or a trust root, which its hosts get as it was sent", async (t) => {
  const hub = await startHub(t);
  const { at, signers, join } = await invited(hub);
  const chain = rootChain();
  const root = chain.version(1, [heldKey()]);
  const asked = (json: object) => hub.call("POST", `${at}/host-invites`, { json: { expires_at: soon(), ...json } });
  const made = await asked({ root });
  t.match(made, { status: 201, body: { signers: [], root: { id: chain.id, version: 1 } } });
  const joined = await join(made.body.token as string, "pier-7");
  t.match(joined.body, { state: "joined", signers: [], root });
  t.equal(joined.body.root, root, "byte for byte");
  const { token, ...record } = made.body as { token: string };
  t.match((await hub.call("GET", `${at}/host-invites`)).body.items, [{ ...record, state: "used", used: 1 }]);
  t.notOk("root" in (await asked({ signers })).body, "an invite without a root says nothing of one");

  isErrorBody(t, await asked({}), 422, "unprocessable");
  isErrorBody(t, await asked({ signers: [] }), 422, "unprocessable");
  isErrorBody(t, await asked({ root, signers }), 422, "unprocessable");
  t.equal((await asked({ root, signers: [] })).status, 201);
  isErrorBody(t, await asked({ root: "{}" }), 422, "trust_root_invalid");
  isErrorBody(t, await asked({ root: chain.version(1, [heldKey()], { by: [] }) }), 422, "trust_root_undersigned");
  isErrorBody(t, await asked({ root: root + " ".repeat(65_536) }), 422, "unprocessable");
});

t.test("hosts are listed by name or invite, also through the client", async (t) => {
  const hub = await startHub(t, { rateLimits: false });
  const { project, at, invite, join } = await invited(hub);
  const [first, second] = [await invite({ uses: 2 }), await invite({ uses: 1 })];
  for (const [token, host] of [
    [first.token, "a"],
    [first.token, "b"],
    [second.token, "c"],
  ] as const)
    await join(token, host);
  const namesBy = async (query: string): Promise<string[]> =>
    ((await hub.call("GET", `${at}/joined-hosts?${query}`)).body.items as { host_id: string }[]).map((h) => h.host_id);
  t.strictSame(await namesBy("host_id=b"), ["b"]);
  t.strictSame(await namesBy(`invite_id=${first.id}`), ["a", "b"]);
  t.strictSame(await namesBy(`invite_id=${first.id}&state=pending`), []);
  const hubUrl = { hubUrl: hub.url, apiKey: hub.adminKey, timeoutMs: 10_000 };
  const client = projectHosts(hubUrl, project.id);
  t.match(await hostsWith(client, { host_id: "c" }), [{ host_id: "c", invite_id: second.id }]);
  t.strictSame(await hostsWith(client, { host_id: "nobody" }), []);
});
