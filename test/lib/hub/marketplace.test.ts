import t, { type Test } from "tap";
import { hmacOf, zipOf } from "../../support/hub/archives.ts";
import { type Answer, isErrorBody, type RunningHub, sha256, startHub, storedFiles } from "../../support/hub/harness.ts";

const SECRET = "a developer's own secret";
const PLUGINS = "/app/marketplace/plugins";

const issue = async (hub: RunningHub, json: object): Promise<string> =>
  (await hub.call("POST", "/devkeys/api-keys", { json: { name: "k", ...json } })).body.key as string;

async function createPlugin(hub: RunningHub, slug: string, kind = "plugin", key = hub.adminKey): Promise<string> {
  const created = await hub.call("POST", "/devkeys/projects", { json: { name: `The ${slug}`, kind, slug }, key });
  return created.body.id as string;
}

interface VersionOptions {
  key?: string;
  base?: string;
  archive?: Buffer;
  changes?: Record<string, string | undefined>;
}

function publish(hub: RunningHub, slug: string, version: string, options: VersionOptions = {}): Promise<Answer> {
  const { archive = zipOf({ "plugin.yaml": `version: ${version}\n` }), base = PLUGINS, changes = {} } = options;
  const form = new FormData();
  const fields = { version, signature: hmacOf(archive, SECRET), ...changes };
  for (const [name, value] of Object.entries(fields)) if (value !== undefined) form.set(name, value);
  form.set("archive", new Blob([new Uint8Array(archive)], { type: "application/zip" }), "archive.zip");
  return hub.call("POST", `${base}/${slug}/versions`, { form, ...(options.key !== undefined && { key: options.key }) });
}

t.test("a plugin and a service are published and installed as they are", async (t) => {
  const hub = await startHub(t);
  const host = await issue(hub, { owner: "someone else" });
  for (const [kind, base, header] of [
    ["plugin", PLUGINS, "x-plugin"],
    ["service", "/app/services/services", "x-service"],
  ] as const) {
    await createPlugin(hub, "tide-table", kind);
    const archive = zipOf({ "tide-table-1.0.0/plugin.yaml": "name: tide\n", "tide-table-1.0.0/src/main.js": "1\n" });
    const published = await publish(hub, "tide-table", "1.0.0", {
      base,
      archive,
      changes: { repo: "acme/tide-table@v1.0.0" },
    });
    t.equal(published.status, 201);
    t.match(published.body, {
      version: "1.0.0",
      size_bytes: archive.length,
      sha256: sha256(archive),
      is_yanked: false,
    });

    const installed = await hub.call("GET", `${base}/tide-table/install`, { key: host });
    t.equal(installed.status, 200);
    t.ok(installed.bytes.equals(archive));
    t.equal(installed.headers.get("x-signature"), hmacOf(archive, SECRET));
    t.equal(installed.headers.get(header), "tide-table@1.0.0");
    t.equal(installed.headers.has(header === "x-plugin" ? "x-service" : "x-plugin"), false);
    t.equal(installed.headers.get("x-repo"), "acme/tide-table@v1.0.0");
    t.equal(installed.headers.get("content-type"), "application/zip");

    const detail = await hub.call("GET", `${base}/tide-table`, { key: null });
    t.match(detail.body, {
      name: "The tide-table",
      slug: "tide-table",
      kind,
      description: null,
      homepage: null,
      repository: null,
      visibility: "public",
      owner: "admin",
      latest_version: "1.0.0",
      versions: [{ version: "1.0.0", repo: "acme/tide-table@v1.0.0", yanked_reason: null }],
    });
  }
});

t.test("a target without a version has an empty latest_version, and nothing to install", async (t) => {
  const hub = await startHub(t);
  await createPlugin(hub, "empty");
  t.equal((await hub.call("GET", `${PLUGINS}/empty`)).body.latest_version, "");
  isErrorBody(t, await hub.call("GET", `${PLUGINS}/empty/install`), 404, "no_version");
  isErrorBody(t, await hub.call("GET", `${PLUGINS}/empty/install?version=1.0.0`), 404, "not_found");
});

t.test("detail and install have one answer to latest, also after a yank", async (t) => {
  const hub = await startHub(t);
  await createPlugin(hub, "p");
  const latest = async () => {
    const detail = await hub.call("GET", `${PLUGINS}/p`);
    const install = await hub.call("GET", `${PLUGINS}/p/install`);
    const explicit = await hub.call("GET", `${PLUGINS}/p/install?version=latest`);
    t.equal(install.headers.get("x-plugin"), explicit.headers.get("x-plugin"));
    t.equal(`p@${detail.body.latest_version}`, install.headers.get("x-plugin"));
    return detail.body.latest_version as string;
  };
  for (const version of ["1.0.0", "2.0.0-rc.1", "1.10.0", "1.9.0", "edge"]) await publish(hub, "p", version);
  t.equal(await latest(), "1.10.0");
  const yanked = await hub.call("POST", `${PLUGINS}/p/versions/1.10.0/yank`, { json: { reason: "loses data" } });
  t.match(yanked.body, { version: "1.10.0", is_yanked: true, yanked_reason: "loses data" });
  t.equal(await latest(), "1.9.0");
  const still = await hub.call("GET", `${PLUGINS}/p/install?version=1.10.0`);
  t.equal(still.headers.get("x-plugin"), "p@1.10.0", "a yanked version stays installable by its label");
  t.match((await hub.call("GET", `${PLUGINS}/p`)).body.versions[0], { version: "1.10.0", is_yanked: true });
  t.equal((await hub.call("DELETE", `${PLUGINS}/p/versions/1.10.0/yank`)).body.is_yanked, false);
  t.equal(await latest(), "1.10.0");
  isErrorBody(t, await hub.call("POST", `${PLUGINS}/p/versions/7.7.7/yank`, { json: {} }), 404, "not_found");
  t.equal((await hub.call("POST", `${PLUGINS}/p/versions/1.0.0/yank`)).status, 200, "a reason is not required");
});

t.test("detail and install answer ranges and conditions", async (t) => {
  const hub = await startHub(t);
  await createPlugin(hub, "p");
  await publish(hub, "p", "1.0.0");
  for (const path of [`${PLUGINS}/p`, `${PLUGINS}/p/install`]) {
    const whole = await hub.call("GET", path);
    const etag = whole.headers.get("etag") ?? "";
    t.match(etag, /^"sha256-[0-9a-f]{64}"$/);
    t.equal(etag, `"sha256-${sha256(whole.bytes)}"`);
    t.equal((await hub.call("GET", path, { headers: { "if-none-match": etag } })).status, 304);
    const part = await hub.call("GET", path, { headers: { range: "bytes=2-9", "if-range": etag } });
    t.equal(part.status, 206);
    t.ok(part.bytes.equals(whole.bytes.subarray(2, 10)));
    const head = await hub.call("HEAD", path);
    t.equal(head.headers.get("content-length"), String(whole.bytes.length));
    isErrorBody(t, await hub.call("GET", path, { headers: { range: "bytes=999999-" } }), 416, "bad_request");
    await hub.call("PATCH", `${PLUGINS}/p`, { json: { description: `changed ${path}` } });
  }
  const before = (await hub.call("GET", `${PLUGINS}/p`)).headers.get("etag");
  await publish(hub, "p", "1.0.1");
  t.not((await hub.call("GET", `${PLUGINS}/p`)).headers.get("etag"), before);
});

t.test("install asks for a key with the scope, detail reads one when it is there", async (t) => {
  const hub = await startHub(t);
  await createPlugin(hub, "p");
  await publish(hub, "p", "1.0.0");
  const reporter = await issue(hub, { scopes: ["report"] });
  isErrorBody(t, await hub.call("GET", `${PLUGINS}/p/install`, { key: null }), 401, "key_missing");
  isErrorBody(t, await hub.call("GET", `${PLUGINS}/p/install`, { key: "slk_bad" }), 401, "key_rejected");
  isErrorBody(t, await hub.call("GET", `${PLUGINS}/p/install`, { key: reporter }), 403, "forbidden");
  isErrorBody(t, await hub.call("GET", `${PLUGINS}/p`, { key: "slk_bad" }), 401, "key_rejected");
  isErrorBody(t, await hub.call("GET", `${PLUGINS}/nothing`, { key: "slk_bad" }), 401, "key_rejected");
  t.equal((await hub.call("GET", `${PLUGINS}/p`, { key: reporter })).status, 200);
});

/** The part that two answers have in common; request ids and dates differ between any two. */
const essence = ({ status, headers, bytes }: Answer) => ({
  status,
  body: bytes.toString(),
  headers: [...headers].filter(([name]) => name !== "x-request-id" && name !== "date"),
});

t.test("a hidden target and a missing one cannot be told apart", async (t) => {
  const statements: string[] = [];
  // The hub looks after these beside the requests.
  const onStatement = (text: string) => !/\bfrom "?(?:rollouts|changes|webhook)/i.test(text) && statements.push(text);
  const hub = await startHub(t, { onStatement });
  const alice = await issue(hub, { owner: "alice", scopes: ["projects", "publish", "read", "deploy"] });
  const bob = await issue(hub, { owner: "bob", scopes: ["projects", "publish", "read", "deploy"] });
  const ask = async (slug: string, key: string | null, method: string, suffix: string, json?: object) => {
    statements.length = 0;
    const answer = await hub.call(method, `${PLUGINS}/${slug}${suffix}`, { key, ...(json && { json }) });
    return { ...essence(answer), statements: [...statements] };
  };
  await createPlugin(hub, "hidden", "plugin", alice);
  await publish(hub, "hidden", "1.0.0", { key: alice, changes: { visibility: "private" } });
  const requests: [string, string, object?][] = [
    ["GET", ""],
    ["HEAD", ""],
    ["GET", "/install"],
    ["GET", "/install?version=1.0.0"],
    ["GET", "/versions"],
    ["GET", "/grants"],
    ["PATCH", "", { name: "x" }],
    ["POST", "/versions/1.0.0/yank", {}],
    ["POST", "/grants", { owner: "bob" }],
  ];
  for (const [method, suffix, json] of requests) {
    for (const key of [bob, null]) {
      const hidden = await ask("hidden", key, method, suffix, json);
      const missing = await ask("absent", key, method, suffix, json);
      t.strictSame(hidden, missing, `${method} ${suffix}`);
      t.ok(hidden.status === 404 || (key === null && hidden.status === 401), String(hidden.status));
      // The hot path asks first; what is not a plain success is asked once more by the route.
      t.equal(new Set(hidden.statements).size <= 1, true, `one statement: ${hidden.statements.join("\n")}`);
    }
  }
  const seen = await ask("hidden", alice, "GET", "");
  t.equal(seen.status, 200);
  t.equal(seen.statements.length, 1);
  const bobs = await publish(hub, "hidden", "6.6.6", { key: bob });
  const absent = await publish(hub, "absent", "6.6.6", { key: bob });
  t.strictSame(essence(bobs), essence(absent));
});

t.test("a private target is seen by its owner, granted owners and administrators", async (t) => {
  const hub = await startHub(t);
  const rights = { scopes: ["projects", "publish", "read", "deploy"] };
  const alice = await issue(hub, { owner: "alice", ...rights });
  const alicesHost = await issue(hub, { owner: "alice" });
  const bob = await issue(hub, { owner: "bob", ...rights });
  const id = await createPlugin(hub, "mine", "plugin", alice);
  const otherId = await createPlugin(hub, "other", "plugin", alice);
  await publish(hub, "mine", "1.0.0", { key: alice });
  await hub.call("PATCH", `${PLUGINS}/mine`, { key: alice, json: { visibility: "private" } });
  const sees = async (key: string | null) => {
    const detail = await hub.call("GET", `${PLUGINS}/mine`, { key });
    const list = await hub.call("GET", PLUGINS, { key });
    const listed = list.status === 200 && (list.body.items as { slug: string }[]).some(({ slug }) => slug === "mine");
    t.equal(listed, detail.status === 200, "list and detail agree");
    if (key !== null) t.equal((await hub.call("GET", `${PLUGINS}/mine/install`, { key })).status, detail.status);
    return detail.status === 200;
  };
  t.equal(await sees(alice), true);
  t.equal(await sees(alicesHost), true);
  t.equal(await sees(hub.adminKey), true);
  t.equal(await sees(bob), false);
  t.equal(await sees(null), false);
  t.equal(await sees(await issue(hub, { project_id: id, owner: "bob" })), true, "a key bound to the target");
  t.equal(await sees(await issue(hub, { project_id: otherId, owner: "alice" })), false, "a key bound to another");
  const project = await hub.call("POST", "/devkeys/projects", { key: alice, json: { name: "P", kind: "project" } });
  const projectKey = await issue(hub, { owner: "alice", project_id: project.body.id });
  t.equal(await sees(projectKey), true, "a project's host fetches its owner's plugins");
  t.equal(await sees(await issue(hub, { scopes: ["admin"], project_id: otherId })), false, "a bound administrator");

  const grant = await hub.call("POST", `${PLUGINS}/mine/grants`, { key: alice, json: { owner: "bob" } });
  t.match(grant.body, { owner: "bob", created_at: /Z$/ });
  t.equal(await sees(bob), true);
  t.match((await hub.call("GET", `${PLUGINS}/mine/grants`, { key: alice })).body, {
    items: [{ owner: "bob" }],
    next: null,
  });
  isErrorBody(t, await publish(hub, "mine", "2.0.0", { key: bob }), 403, "forbidden");
  isErrorBody(t, await hub.call("GET", `${PLUGINS}/mine/grants`, { key: bob }), 403, "forbidden");
  t.equal((await hub.call("DELETE", `${PLUGINS}/mine/grants/bob`, { key: alice })).status, 204);
  isErrorBody(t, await hub.call("DELETE", `${PLUGINS}/mine/grants/bob`, { key: alice }), 404, "not_found");
  t.equal(await sees(bob), false);
});

t.test("lists and searches come in pages, in slug order", async (t) => {
  const hub = await startHub(t);
  for (const slug of ["zeta", "alpha", "tide-table", "tide-alarm", "under_score"]) await createPlugin(hub, slug);
  await createPlugin(hub, "a-service", "service");
  await hub.call("PATCH", `${PLUGINS}/zeta`, { json: { description: "Reads the TIDE, 100% of it" } });
  const search = async (q: string) =>
    ((await hub.call("GET", `${PLUGINS}?q=${encodeURIComponent(q)}`)).body.items as { slug: string }[]).map(
      ({ slug }) => slug,
    );
  t.strictSame(await search(""), ["alpha", "tide-alarm", "tide-table", "under_score", "zeta"]);
  t.strictSame(await search("Tide"), ["tide-alarm", "tide-table", "zeta"]);
  t.strictSame(await search("100%"), ["zeta"]);
  t.strictSame(await search("r_s"), ["under_score"]);
  t.strictSame(await search("!"), []);
  const list = async (query: string): Promise<string[]> => {
    const seen: string[] = [];
    for (let cursor: string | null = ""; cursor !== null;) {
      const page = await hub.call("GET", `${PLUGINS}?${query}&cursor=${encodeURIComponent(cursor)}`);
      seen.push(...(page.body.items as { slug: string }[]).map(({ slug }) => slug));
      t.equal(page.body.total, query.includes("count=true") ? 5 : undefined, "of all pages, where it is asked for");
      cursor = page.body.next as string | null;
    }
    return seen;
  };
  t.strictSame(await list("limit=2"), ["alpha", "tide-alarm", "tide-table", "under_score", "zeta"]);
  for (const sort of ["slug", "name", "newest"]) {
    const all = await list(`sort=${sort}&count=true`);
    t.equal(all.length, 5, sort);
    t.strictSame(await list(`sort=${sort}&count=true&limit=2`), all, `${sort}, page by page`);
  }
  isErrorBody(t, await hub.call("GET", `${PLUGINS}?limit=0`), 422, "unprocessable");
  isErrorBody(t, await hub.call("GET", `${PLUGINS}?sort=odd`), 422, "unprocessable");
  isErrorBody(t, await hub.call("GET", PLUGINS, { key: "slk_bad" }), 401, "key_rejected");
});

t.test("versions come newest first, in pages", async (t) => {
  let now = Date.parse("2026-03-01T12:00:00Z");
  const hub = await startHub(t, { clock: () => (now += 1) });
  await createPlugin(hub, "p");
  for (const version of ["1.0.0", "3.0.0", "2.0.0"]) await publish(hub, "p", version);
  const first = await hub.call("GET", `${PLUGINS}/p/versions?limit=2`);
  t.strictSame(
    (first.body.items as { version: string }[]).map(({ version }) => version),
    ["2.0.0", "3.0.0"],
  );
  const second = await hub.call("GET", `${PLUGINS}/p/versions?limit=2&cursor=${first.body.next}`);
  t.match(second.body, { items: [{ version: "1.0.0" }], next: null });
});

async function refused(t: Test, hub: RunningHub, answer: Answer, status: number, code: string): Promise<void> {
  isErrorBody(t, answer, status, code);
  t.strictSame(await storedFiles(hub), []);
}

t.test("a publication that is malformed leaves nothing", async (t) => {
  const hub = await startHub(t, { maxArtifactBytes: 100_000 });
  await createPlugin(hub, "p");
  const hex = "0".repeat(64);
  const attempts: [Record<string, string | undefined>, number, string][] = [
    [{ signature: undefined }, 422, "unprocessable"],
    [{ version: undefined }, 422, "unprocessable"],
    [{ version: "latest" }, 422, "unprocessable"],
    [{ version: "a b" }, 422, "unprocessable"],
    [{ signature: hex }, 400, "bad_request"],
    [{ signature: `hmac_sha256:${hex.slice(1)}` }, 400, "bad_request"],
    [{ signature: `hmac_sha256:${hex.replace(/0/g, "A")}` }, 400, "bad_request"],
    [{ signature: `sha256:${hex}` }, 400, "bad_request"],
    [{ repo: "no-at-sign" }, 422, "unprocessable"],
    [{ repo: "../x@y" }, 422, "unprocessable"],
    [{ repo: "a/b@x\r\nSet-Cookie: a" }, 422, "unprocessable"],
    [{ visibility: "secret" }, 422, "unprocessable"],
  ];
  for (const [changes, status, code] of attempts) {
    await refused(t, hub, await publish(hub, "p", "1.0.0", { changes }), status, code);
  }
  const archives: [Buffer, number, string][] = [
    [Buffer.from("not a zip at all, but long enough to be one"), 422, "zip_invalid"],
    [zipOf({ a: "1" }).subarray(0, -5), 422, "zip_invalid"],
    [zipOf({}), 422, "zip_invalid"],
    [zipOf({ "../outside": "1" }), 422, "member_unsafe"],
    [zipOf({ "/etc/passwd": "1" }), 422, "member_unsafe"],
    [zipOf({ "a\\b": "1" }), 422, "member_unsafe"],
    [zipOf({ readme: "1", README: "2" }), 422, "member_duplicate"],
    [zipOf({ a: "1", "a/b": "2" }), 422, "member_duplicate"],
    [zipOf({ big: "x".repeat(100_000) }), 413, "too_large"],
  ];
  for (const [archive, status, code] of archives) {
    await refused(t, hub, await publish(hub, "p", "1.0.0", { archive }), status, code);
  }
  const json = await hub.call("POST", `${PLUGINS}/p/versions`, { json: { version: "1.0.0" } });
  await refused(t, hub, json, 415, "unsupported_media_type");
  t.equal((await hub.call("GET", `${PLUGINS}/p`)).body.latest_version, "");
});

t.test("a version is published once: the same archive again is the same record, another one a conflict", async (t) => {
  const hub = await startHub(t);
  await createPlugin(hub, "p");
  const archive = zipOf({ "plugin.yaml": "1" });
  const first = await publish(hub, "p", "1.0.0", { archive });
  const again = await publish(hub, "p", "1.0.0", { archive });
  t.equal(again.status, 200);
  t.strictSame(again.body, first.body);
  const other = await publish(hub, "p", "1.0.0", { archive: zipOf({ "plugin.yaml": "2" }) });
  isErrorBody(t, other, 409, "version_exists");
  t.equal(other.body.content_sha256, sha256(archive));
  const racing = await Promise.all(
    ["x", "y", "z"].map((text) => publish(hub, "p", "2.0.0", { archive: zipOf({ "plugin.yaml": text }) })),
  );
  t.strictSame(racing.map(({ status }) => status).sort(), [201, 409, 409]);
  t.equal((await storedFiles(hub)).length, 2);
});

t.test("publishing and describing ask for rights to the target", async (t) => {
  const hub = await startHub(t);
  await createPlugin(hub, "p");
  const stranger = await issue(hub, { owner: "bob", scopes: ["publish", "projects", "read"] });
  const reader = await issue(hub, { scopes: ["read"] });
  isErrorBody(t, await publish(hub, "p", "1.0.0", { key: stranger }), 403, "forbidden");
  isErrorBody(t, await publish(hub, "p", "1.0.0", { key: reader }), 403, "forbidden");
  isErrorBody(t, await publish(hub, "p", "1.0.0", { key: "slk_bad" }), 401, "key_rejected");
  const patch = (json: object, key = hub.adminKey) => hub.call("PATCH", `${PLUGINS}/p`, { json, key });
  isErrorBody(t, await patch({ name: "x" }, stranger), 403, "forbidden");
  isErrorBody(t, await patch({ visibility: "hidden" }), 422, "unprocessable");
  isErrorBody(t, await patch({ owner: "bob" }), 422, "unprocessable");
  isErrorBody(t, await patch({ homepage: "javascript:alert(1)" }), 422, "unprocessable");
  const changed = await patch({ name: "New", homepage: "https://example.org/x", description: null });
  t.match(changed.body, { name: "New", homepage: "https://example.org/x", description: null, versions: [] });
});

t.test("a form with too many fields or files is refused in words of ours", async (t) => {
  const hub = await startHub(t);
  await createPlugin(hub, "p");
  const many = (count: number, value: string | Blob): FormData => {
    const form = new FormData();
    for (let index = 0; index < count; index++) form.set(`x${index}`, value);
    return form;
  };
  for (const [what, form] of Object.entries({ fields: many(40, "1"), files: many(6, new Blob(["1"])) })) {
    const answer = await hub.call("POST", `${PLUGINS}/p/versions`, { form });
    t.match(answer, { status: 413, body: { code: "too_large", detail: `The form has too many ${what}.` } });
  }
});
