import t from "tap";
import { AUDIENCE, startWorkflow } from "../../../support/hub/publishers.ts";
import { Visitor } from "../../../support/hub/web.ts";

t.test("a workflow is trusted, used and removed on the page, without a script", async (t) => {
  const { hub, issuer, run, exchange } = await startWorkflow(t);
  await hub.call("POST", "/devkeys/projects", { json: { name: "Tide", kind: "plugin", slug: "tide" } });
  const admin = await new Visitor(hub.url).signIn(hub.adminKey);
  t.match((await admin.request("/keys")).html, 'href="/publishers"');
  t.match((await admin.request("/publishers")).html, /No publishers yet\..+sealift publisher add/s);
  const form = {
    ...{ target: "plugin:tide", name: "release", issuer: issuer.url, audience: AUDIENCE },
    claims: "repository_id=41\r\n\r\nrepository_owner_id=7\r\n",
  };
  const submit = (changes: Record<string, string> = {}) =>
    admin.submit("/publishers", "/publishers", { ...form, ...changes });
  t.match(await submit({ claims: "repository_id" }), { status: 422, html: /each line is NAME=VALUE/ });
  t.match(await submit({ target: "plugin:none" }), { status: 404 });
  t.match(await submit({ target: "tide", pending: "yes" }), { status: 422, html: /plugin:SLUG/ });
  t.equal((await submit()).status, 303);
  t.equal((await submit({ target: "project:Harbour", pending: "yes", name: "first" })).status, 303);
  const { html } = await admin.request("/publishers");
  t.match(html, /release.+plugin:tide.+repository_id=41/s);
  t.match(html.replaceAll("<!-- -->", ""), /project:prj_\w+<.+pending.+Harbour/s);
  t.match(html, /Remove<\/summary>.+Trust .*release.* no longer\?/s, "it asks before it removes");
  const token = await run();
  const got = await exchange("plugin:tide", token);
  t.equal(got.status, 201, got.bytes.toString());
  const [id] = /\/publishers\/pub_\w+(?=\/remove)/.exec(html)!;
  t.equal((await admin.submit("/publishers", `${id}/remove`)).status, 303);
  t.notMatch((await admin.request("/publishers")).html, "plugin:tide</");
  t.equal((await hub.call("GET", "/devkeys/key", { key: got.body.key })).status, 401, "and its key has ended");
});
