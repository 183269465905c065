// Only in test:all: many requests for one rule, 5 s of a processor.
import t from "tap";
import { HOSTILE_HOST } from "../../support/hub/filling.ts";
import { fullHub } from "../../support/hub/full-hub.ts";
import { startHub } from "../../support/hub/harness.ts";
import { publishFiles, report } from "../../support/hub/shown-hub.ts";
import { Visitor } from "../../support/hub/web.ts";

/** Markup in each form in which a page could take it for its own. */
const HOSTILE = `"><img src=x onerror=alert(1)><script>alert(1)</script></title></textarea>'--!><svg/onload=alert(1)>`;

/** A host may have no spaces in its id. */
const HOST = `"><svg/onload=alert(1)><script>alert(1)</script>`;

const README = `# ${HOSTILE}

${HOSTILE}

[a](javascript:alert(1)) [b](JaVaScRiPt:alert(1)) [c](data:text/html,<script>alert(1)</script>) [d](vbscript:x)
[e](//evil.example/x) [f](/sign-out) [g](https://evil.example/"onmouseover="alert(1)) <javascript:alert(1)>
![i](https://evil.example/pixel.png) ![j](x "onerror=alert(1)")

<div onclick="alert(1)">x</div>

\`\`\`"><script>alert(1)</script>
</code></pre><script>alert(1)</script>
\`\`\`

[r]: javascript:alert(1)
[r]

| a |
| --- |
| ${HOSTILE.replaceAll("|", "")} |
`;

/** Attributes that name something to load or to open, and all that could run. */
const faultsOf = (html: string): string[] => {
  const tags = html.match(/<[a-z!/][^>]*>/gi) ?? [];
  return tags.filter(
    (tag) =>
      /^<(img|iframe|object|embed|base|style|link rel="(?!icon|stylesheet))/i.test(tag) ||
      /\s(on[a-z]+|style|srcdoc|formaction)\s*=/i.test(tag.replace(/"[^"]*"/g, '""')) ||
      /(href|src|action)="(?!\/[^/]|#|https?:\/\/|\/")/i.test(tag) ||
      (/^<script/i.test(tag) && !/^<script defer="" src="\/assets\/page-[0-9a-f]{16}\.js">$/.test(tag)) ||
      (/^<svg/i.test(tag) && !/^<svg (class="(adoption|bar|swatch)" )?viewBox/.test(tag)),
  );
};

t.test("no name, README, report, error, label or search runs as a script on a page", async (t) => {
  const hub = await startHub(t);
  const name = HOSTILE.slice(0, 255);
  await hub.call("POST", "/devkeys/projects", { json: { name, kind: "plugin", slug: "tide" } });
  const json = { description: HOSTILE, homepage: `https://evil.example/${encodeURI(HOSTILE)}`, name };
  await hub.call("PATCH", "/app/marketplace/plugins/tide", { json });
  const files = (version: string) => ({
    "README.md": README,
    "plugin.yaml": `name: tide\nversion: ${version}\nentry_point: i.js\nexecution_mode: sandboxed\npermissions: [{resource: cache, actions: [get], effect: allow}]\n`,
    [`<img src=x onerror=alert(1)>${version}.js`]: "1",
  });
  await publishFiles(hub, { slug: "tide", version: "1.0.0" }, files("1.0.0"));
  await publishFiles(hub, { slug: "tide", version: "1.1.0" }, files("1.1.0"));
  const yank = "/app/marketplace/plugins/tide/versions/1.0.0/yank";
  await hub.call("POST", yank, { json: { reason: HOSTILE } });
  await report(hub, { slug: "tide", host: HOST, version: "1.1.0", status: "failed", error: HOSTILE });
  await report(hub, { slug: "tide", host: "h", version: HOSTILE.slice(0, 120), running: HOSTILE.slice(0, 120) });
  await hub.call("POST", "/devkeys/api-keys", { json: { name, scopes: ["read"], owner: name } });
  await hub.call("POST", "/devkeys/projects", { json: { name, kind: "project" } });
  const visitor = await new Visitor(hub.url).signIn(hub.adminKey);
  const { body } = await hub.call("GET", "/devkeys/projects");
  const project = (body as { items: { id: string; kind: string }[] }).items.find(({ kind }) => kind === "project")!;
  const text = encodeURIComponent(HOSTILE);
  for (const path of [
    ...["/", `/?q=${text}`, "/plugins/tide", "/plugins/tide/compare?from=1.0.0&to=1.1.0", `/plugins/${text}`],
    ...["/plugins/tide/fleet", `/plugins/tide/fleet?version=${text}&q=${text}&label=${text}&state=${text}`],
    ...["/plugins/tide/fleet/h", `/plugins/tide/fleet/${encodeURIComponent(HOST)}`, "/fleets"],
    ...["/plugins/tide/rollouts", "/projects", `/projects/${project.id}`, `/projects/${project.id}/fleet`, "/keys"],
    ...["/audit", `/audit?action=${text.slice(0, 60)}&actor=${text}`, "/quotas", `/sign-in?next=${text}`],
    ...["/components", `/components?q=${text}`, "/components?q=lodash"],
  ]) {
    const { status, html } = await visitor.request(path);
    t.ok([200, 303, 404, 422].includes(status), `${path}: ${status}`);
    t.strictSame(faultsOf(html), [], path);
  }
  const { html } = await visitor.request("/plugins/tide");
  t.match(html, "[image: i]", "a picture is its words");
  t.notMatch(html, /href="(?:\/\/|javascript|data|vbscript)/i);
  t.match(html, 'rel="noopener noreferrer nofollow ugc"');
});

/** Addresses of other pages that a page names; those that end the session or give bytes are left out. */
const linksOf = (html: string): string[] =>
  [...html.matchAll(/\shref="(\/[^"#]*)/g)]
    .map(([, href]) => href!.replaceAll("&amp;", "&").replaceAll("&quot;", '"').replaceAll("&#x27;", "'"))
    .filter((href) => !/^\/(assets|app|sign-out|openapi)/.test(href));

t.test("no text in any column of the database runs as a script on any page that links lead to", async (t) => {
  const { hub, project, rolled } = await fullHub(t, `${t.testdir({})}/hub`);
  const visitor = await new Visitor(hub.url).signIn(hub.adminKey);
  const waiting = [
    "/",
    "/fleets",
    "/components",
    "/projects",
    "/keys",
    "/publishers",
    "/audit",
    "/quotas",
    "/webhooks",
    "/hub",
  ];
  for (const { id } of [project, rolled])
    for (const page of ["", "/fleet", "/rollouts", "/hosts"]) waiting.push(`/projects/${id}${page}`);
  const seen = new Set<string>();
  for (let path = waiting.shift(); path !== undefined && seen.size < 300; path = waiting.shift()) {
    // One page of each list in each order is enough.
    const shape = path.replaceAll(/=[^&]*/g, "=");
    if (seen.has(shape)) continue;
    seen.add(shape);
    const { status, html } = await visitor.request(path);
    t.ok([200, 303].includes(status), `${path}: ${status}`);
    t.strictSame(faultsOf(html), [], path);
    waiting.push(...linksOf(html));
  }
  const host = encodeURIComponent(HOSTILE_HOST);
  for (const path of [`/plugins/tide/fleet/${host}`, `/projects/${rolled.id}/fleet/${host}`, "/plugins/tide/compare"])
    t.ok(
      [...seen].some((shape) => shape.startsWith(path)),
      `a link leads to ${path}`,
    );
  const { html } = await visitor.request(`/projects/${project.id}/hosts`);
  for (const title of ["Waiting for approval", "Invites"]) t.match(html, title, "hostile hosts are shown");
});
