import t from "tap";
import { createProject, startHub } from "../../support/hub/harness.ts";
import { fillShownHub, pagesOf, report } from "../../support/hub/shown-hub.ts";
import { Visitor } from "../../support/hub/web.ts";

t.test("the pages of a hub", async (t) => {
  let now = Date.now();
  const hub = await startHub(t, { clock: () => now });
  const { project, reader } = await fillShownHub(hub, { hosts: 8 });
  const admin = await new Visitor(hub.url).signIn(hub.adminKey);

  t.test("each page is there for the key that may see it, and is nobody else's to keep", async (t) => {
    for (const [name, path] of Object.entries(pagesOf(project.id))) {
      const { status, headers, html } = await admin.request(path);
      t.equal(status, name === "missing" ? 404 : 200, `${name}: ${status}`);
      t.match(html, /^<!doctype html>.*<h1>.*<\/html>$/s, name);
      t.equal(headers.get("cache-control"), "private, no-store");
      t.match(headers.get("vary"), /Cookie/);
      t.match(headers.get("content-security-policy"), /default-src 'none'.*frame-ancestors 'none'.*base-uri 'none'/);
      t.equal(headers.get("x-content-type-options"), "nosniff");
      t.equal(headers.get("referrer-policy"), "same-origin");
      t.notMatch(html, /<[^>]+ (?:style|on\w+)=|<script(?! defer="" src=)|<style/i, `${name} has nothing inline`);
    }
  });

  t.test("a form with a step of a path in place of a version finds nothing", async (t) => {
    for (const target of ["/plugins/tide-table", `/projects/${project.id}`])
      for (const action of ["yank", "unyank", "release"])
        for (const version of [".", ".."]) {
          const { status } = await admin.submit(target, `${target}/${action}`, { version });
          t.equal(status, 404, `${target} ${action} ${version}`);
        }
  });

  t.test("a plugin's page has its README, rights, versions, and the command that installs it", async (t) => {
    const { html } = await admin.request("/plugins/tide-table");
    for (const part of ["every harbour</strong>", "cache: get", "1.2.0", "Low water of Cuxhaven", "marketplace deploy"])
      t.ok(html.includes(part), part);
    const changes = await admin.request("/plugins/tide-table/compare?from=1.1.0&to=1.2.0");
    t.match(changes.html, "network: api.tides.example:443");
    t.match(changes.html, "plugin.yaml");
    t.notMatch(changes.html, "README.md", "what is the same is not named");
  });

  t.test("signers and sizes have the form that they have in the terminal", async (t) => {
    const { html } = await admin.request(`/projects/${project.id}`);
    t.match(html, /<code title="Ed25519: ([0-9a-f]{16})[0-9a-f]{48}">\1<\/code>/);
    t.match(html, /title="180\d{3} bytes">\d+ KiB</);
    for (const [name, path] of Object.entries(pagesOf(project.id)))
      t.notMatch((await admin.request(path)).html, /title="\d+ bytes">[\d.]+ [kMGT]B</, name);
  });

  t.test("owners see which key has published a version, and others do not", async (t) => {
    const { body } = await hub.call("POST", "/devkeys/api-keys", { json: { name: "reads", owner: "else" } });
    const stranger = await new Visitor(hub.url).signIn((body as { key: string }).key);
    t.match((await admin.request("/plugins/tide-table")).html, "by the key administrator");
    t.match((await admin.request(`/projects/${project.id}`)).html, "by the key ");
    for (const visitor of [stranger, new Visitor(hub.url)])
      t.notMatch((await visitor.request("/plugins/tide-table")).html, "by the key");
  });

  t.test("a search finds what a name, slug or description holds", async (t) => {
    const { html } = await admin.request("/?q=quay");
    t.match(html, "Berth board");
    t.notMatch(html, "Crane log");
    t.match((await admin.request("/?q=%3Cnothing%3E")).html, "&lt;nothing&gt;");
  });

  t.test("the catalogue says how many there are, by name or the newest first", async (t) => {
    now += 1000;
    await hub.call("POST", "/devkeys/projects", { json: { name: "anchor watch", kind: "plugin", slug: "zz-anchor" } });
    const read = async (query: string) => (await admin.request(`/?${query}`)).html.replaceAll("<!-- -->", "");
    const slugs = (html: string) => [...html.matchAll(/<h2><a href="\/plugins\/([^"]+)"/g)].map(([, slug]) => slug);
    const named = await read("");
    t.match(named, /class="num">6<\/span> plugins/);
    t.strictSame(slugs(named), ["zz-anchor", "berth-board", "crane-log", "fog-signal", "pilot-roster", "tide-table"]);
    const newest = await read("sort=newest");
    t.equal(slugs(newest)[0], "zz-anchor");
    t.strictSame(slugs(newest).toSorted(), slugs(named).toSorted());
    t.match(await read("q=quay&sort=newest"), /class="num">1<\/span> plugin\b/);
    t.match(await read("kind=service"), /class="num">1<\/span> service\b/);
    t.match(newest, 'name="sort" value="newest"', "a search keeps the order");
  });

  t.test("a fleet can be filtered by version, label and state", async (t) => {
    const rows = async (query: string) =>
      [...(await admin.request(`/plugins/tide-table/fleet?${query}`)).html.matchAll(/fleet\/(quay-\d+)"/g)].map(
        ([, host]) => host,
      );
    t.strictSame(await rows("version=1.2.0"), ["quay-01"]);
    t.strictSame(await rows("label=stage%3Dcanary"), ["quay-01"]);
    t.strictSame(await rows("state=failed"), ["quay-05"]);
    t.strictSame(await rows("q=08"), ["quay-08"]);
    t.equal((await rows("")).length, 8);
    await report(hub, { slug: "tide-table", host: "quay-09", version: "1.2.0" });
    t.equal((await rows("")).length, 9, "the next look has what has changed");
  });

  t.test("forms do what the API does, and the audit log says that a page did it", async (t) => {
    await admin.submit("/plugins/tide-table", "/plugins/tide-table/yank", { version: "1.0.0", reason: "old" });
    const made = await admin.submit("/keys", "/keys", { name: "by hand", scope: "read", days: "30" });
    const key = /slk_[\w-]+/.exec(made.html)?.[0];
    t.equal((await hub.call("GET", "/app/marketplace/plugins", { key: key! })).status, 200, "it works at once");
    const audit = (await hub.call("GET", "/devkeys/audit")).body as {
      items: { action: string; facts: { by?: string }; address: string }[];
    };
    const byPage = audit.items.filter(({ facts }) => facts.by === "web");
    t.strictSame(byPage.map(({ action }) => action).toSorted(), ["key.create", "version.yank"]);
    t.equal(byPage[0]!.address, "127.0.0.1");
  });

  t.test("a project is made on a page", async (t) => {
    const fields = { name: "Slipway", kind: "plugin", slug: "slipway" };
    const made = await admin.submit("/projects", "/projects", fields);
    t.equal(made.headers.get("location"), "/plugins/slipway");
    t.equal((await admin.submit("/projects", "/projects", fields)).status, 409, "the name is taken");
    const sealed = await admin.submit("/projects", "/projects", { name: "Slipway", kind: "project" });
    t.match(sealed.headers.get("location"), /^\/projects\/prj_/);
  });

  t.test("the audit log has the names of keys and projects, and seconds", async (t) => {
    const { body } = await hub.call("POST", "/devkeys/projects", { json: { name: "Dredger", kind: "project" } });
    const { html } = await admin.request("/audit");
    t.match(html, `<span title="${body.id as string}">Dredger</span>`);
    t.match(html, /by the key <span title="key_[^"]+">administrator</);
    t.match(html, /<time [^>]*data-seconds=""[^>]*>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC</);
  });

  t.test("a key gets the end that its form says, or none is made", async (t) => {
    const keys = async () =>
      (
        (await hub.call("GET", "/devkeys/api-keys?limit=200")).body as {
          items: { name: string; expires_at: string | null }[];
        }
      ).items;
    const before = (await keys()).length;
    for (const days of ["1e300", "-1", "NaN", "0", "0.5", "36501", "30 days", "Infinity", "0x10"]) {
      const { status, html } = await admin.submit("/keys", "/keys", { name: "odd", scope: "read", days });
      t.equal(status, 422, days);
      t.match(html, /days: must be a whole number/, days);
    }
    t.equal((await keys()).length, before);
    for (const days of ["365", ""]) {
      const { html } = await admin.submit("/keys", "/keys", { name: `for ${days} days`, scope: "read", days });
      t.match(html, "slk_", days);
      const made = (await keys()).find(({ name }) => name === `for ${days} days`);
      t.match(made!.expires_at, days === "" ? null : /^20\d\d-/);
    }
  });

  t.test("a key that may only read sees no forms but the one that signs it out", async (t) => {
    const visitor = await new Visitor(hub.url).signIn(reader);
    for (const path of ["/plugins/tide-table", "/plugins/tide-table/fleet/quay-05"]) {
      const { html } = await visitor.request(path);
      t.strictSame([...html.matchAll(/<form[^>]*method="post"/g)].length, 1, path);
    }
    const refused = await visitor.submit("/", "/plugins/tide-table/yank", { version: "1.2.0", reason: "x" });
    t.equal(refused.status, 403);
    for (const path of ["/audit", "/hub"]) t.equal((await visitor.request(path)).status, 404, path);
  });

  t.test("a host's page has the steps of its last report, as far as they can be read", async (t) => {
    const read = async (): Promise<string> => (await admin.request("/plugins/tide-table/fleet/pier-2")).html;
    const told = { slug: "tide-table", host: "pier-2", version: "1.2.0" };
    const step = { id: "<b>alive</b>", action: "healthcheck", duration_ms: 30_120, error_message: "answered 503" };
    await report(hub, { ...told, steps: [{ ...step, status: "failed" }] });
    t.match(await read(), /&lt;b&gt;alive.*healthcheck.*failed.*30\.1 s.*answered 503/s);
    const view = await hub.call("GET", "/app/deployments/deployments/plugin/tide-table/hosts");
    t.notOk("steps" in view.body["pier-2"], "fleet views are not larger");
    const many = Array.from({ length: 101 }, () => ({ ...step, status: "done" }));
    for (const steps of [undefined, "none", [{ ...step, status: "melted" }], many]) {
      await report(hub, { ...told, steps });
      t.notMatch(await read(), "Steps of the last report", "the report counts without them");
    }
  });

  t.test("a host's history goes on, and leads back to its first page", async (t) => {
    for (let count = 0; count < 25; count++)
      await report(hub, { slug: "tide-table", host: "pier-1", version: "1.2.0" });
    const path = "/plugins/tide-table/fleet/pier-1";
    const [, next = ""] = /<a href="([^"]+)">Next page</.exec((await admin.request(path)).html) ?? [];
    const { html } = await admin.request(next.replaceAll("&amp;", "&"));
    t.match(html, `<a href="${path}">First page</a>`);
    t.notMatch(html, "Next page");
  });

  t.test("a path that is not there is a page for a browser, and JSON for all others", async (t) => {
    const accept = "text/html,application/xhtml+xml,*/*;q=0.8";
    for (const path of ["/nothing", "/devkeys/nothing", "/fleets/x/y/z", "/%3Cscript%3E"]) {
      const page = await admin.request(path, { headers: { accept } });
      t.equal(page.status, 404, path);
      t.match(page.headers.get("content-type"), "text/html");
      t.match(page.headers.get("content-security-policy"), "default-src 'none'");
      t.match(page.html, "There is no such page.");
      t.match(page.html, "Sign out", "it knows its visitor");
      t.notMatch(page.html, "<script>");
      const { status, body } = await hub.call("GET", path);
      t.equal(status, 404);
      t.match(body, { code: "not_found", error: `There is no route GET ${path}.` });
    }
    const sent = await hub.call("POST", "/nothing", { headers: { accept }, json: {} });
    t.match(sent.body, { code: "not_found" });
    t.match((await new Visitor(hub.url).request("/x", { headers: { accept } })).html, "/sign-in?next=%2Fx");
  });

  t.test("without a session there is the page that signs in, and what is public", async (t) => {
    const visitor = new Visitor(hub.url);
    t.equal((await visitor.request("/fleets")).headers.get("location"), "/sign-in?next=%2Ffleets");
    const { status, html } = await visitor.request("/plugins/tide-table");
    t.equal(status, 200);
    t.notMatch(html, "every harbour</strong>", "the archive is for keys");
    const { status: refused, html: again } = await visitor.submit("/sign-in", "/sign-in", { key: "slk_wrong" });
    t.equal(refused, 401);
    t.match(again, "unknown, revoked or has expired");
    const cookie = (await visitor.request("/sign-in")).headers.getSetCookie();
    t.strictSame(cookie, [], "a browser keeps the cookie that it has");
  });

  t.test("the files of pages are named by their content, and kept for good", async (t) => {
    const { html } = await admin.request("/");
    const files = [...html.matchAll(/"(\/assets\/[^"]+)"/g)].map(([, path]) => path!);
    t.equal(files.length, 3);
    for (const path of files) {
      const { status, headers } = await new Visitor(hub.url).request(path);
      t.equal(status, 200);
      t.match(headers.get("cache-control"), "immutable");
      t.strictSame(headers.getSetCookie(), []);
    }
    t.equal((await admin.request("/assets/page-0000000000000000.css")).status, 404);
  });

  t.test("a session ends with its key, with its time, and with signing out", async (t) => {
    const { body } = await hub.call("POST", "/devkeys/api-keys", { json: { name: "short", scopes: ["read"] } });
    const { key, id } = body as { key: string; id: string };
    const visitor = await new Visitor(hub.url).signIn(key);
    t.equal((await visitor.request("/")).status, 200);
    await hub.call("DELETE", `/devkeys/api-keys/${id}`);
    const { status, headers } = await visitor.request("/?q=a");
    t.equal(status, 303);
    t.equal(headers.get("location"), "/sign-in?next=%2F%3Fq%3Da");

    const leaving = await new Visitor(hub.url).signIn(reader);
    t.equal((await leaving.submit("/", "/sign-out")).headers.get("location"), "/sign-in");
    t.equal((await leaving.request("/")).status, 303);

    const staying = await new Visitor(hub.url).signIn(reader);
    now += 8 * 3_600_000;
    t.equal((await staying.request("/")).status, 303);
  });
});

t.test("a session outlives the hub that began it: every hub of its database knows it", async (t) => {
  const dataDir = `${t.testdir()}/hub`;
  const first = await startHub(t, { dataDir });
  const { cookies } = await new Visitor(first.url).signIn(first.adminKey);
  await first.hub.close();
  const second = await startHub(t, { dataDir });
  t.equal((await new Visitor(second.url).request("/keys", { headers: { cookie: cookies } })).status, 200);
});

t.test("a hub without pages has the API only", async (t) => {
  const hub = await startHub(t, { web: undefined });
  t.equal((await hub.call("GET", "/")).status, 404);
  t.equal((await hub.call("GET", "/sign-in")).status, 404);
  t.equal((await hub.call("GET", "/healthz")).status, 200);
});

t.test("below a path of a proxy, links and cookies lead there, and over TLS cookies are the hub's alone", async (t) => {
  const hub = await startHub(t, { publicUrl: "https://example.org/sealift/" });
  await createProject(hub);
  const visitor = new Visitor(hub.url);
  const { headers, html } = await visitor.request("/sign-in");
  t.match(headers.getSetCookie()[0], /^__Host-sealift-visit=[^;]+; Path=\/; HttpOnly; SameSite=Strict; Secure$/);
  t.match(html, 'action="/sealift/sign-in"');
  const signedIn = await visitor.submit("/sign-in", "/sign-in", { key: hub.adminKey, next: "/fleets" });
  t.equal(signedIn.headers.get("location"), "/sealift/fleets");
  t.match(signedIn.headers.getSetCookie()[0], /^__Host-sealift-session=.*; Secure; Max-Age=28800$/);
});
