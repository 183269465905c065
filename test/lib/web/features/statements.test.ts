import t from "tap";
import { startHub } from "../../../support/hub/harness.ts";
import { fillShownHub, publishFiles } from "../../../support/hub/shown-hub.ts";
import { Visitor } from "../../../support/hub/web.ts";

t.test("a version's page of statements says who published it, and what was added to it", async (t) => {
  const hub = await startHub(t, { rateLimits: false });
  const { project, reader } = await fillShownHub(hub, { hosts: 2 });
  const admin = await new Visitor(hub.url).signIn(hub.adminKey);
  const at = "/plugins/tide-table/statements";
  const { html } = await admin.request(`${at}?version=1.2.0`);
  t.match(html, /Published<.+>By<.+>administrator<.+Approved<.+by nobody</s);
  t.match(html, /sbom<p class="slug">what it is made of<.+https:\/\/cyclonedx\.org\/bom\/1\.6/s);
  t.match(html, "sealift version statements plugin:tide-table 1.2.0 --download statements/");
  t.match(html, /<option value="1\.2\.0" selected="">/);
  t.equal((await admin.request(`${at}?version=9.9.9`)).status, 404);
  const berths = async () => (await admin.request("/plugins/berth-board/statements")).html;
  t.match(await berths(), "Nothing is published yet");
  const slug = "berth-board";
  for (const version of ["1.0.0", "1.1.0"])
    await publishFiles(hub, { slug, version }, { "plugin.yaml": `name: ${slug}\n` });
  await hub.call("POST", `/app/marketplace/plugins/${slug}/versions/1.1.0/yank`, { json: { reason: "test" } });
  t.match(await berths(), /What is said of.+1\.0\.0.+Nothing was added to this version/s, "the latest");
  t.match((await admin.request(`/projects/${project.id}/statements`)).html, /Tree<.+[0-9a-f]{64}/s);
  const other = await new Visitor(hub.url).signIn(reader);
  t.match((await other.request(`${at}?version=1.2.0`)).html, "what it is made of");
});
