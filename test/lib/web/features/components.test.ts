import t from "tap";
import { indexed } from "../../../support/hub/components.ts";
import { startHub } from "../../../support/hub/harness.ts";
import { report } from "../../../support/hub/shown-hub.ts";
import { billOf, state, statedProject } from "../../../support/hub/statements.ts";
import { Visitor } from "../../../support/hub/web.ts";

t.test("a component is looked for on the page, with the versions and hosts that have it", async (t) => {
  const hub = await startHub(t, { rateLimits: false });
  const project = await statedProject(hub);
  const purl = "pkg:maven/org.apache/log4j@2.14.1";
  const log4j = { group: "org.apache", name: "log4j", version: "2.14.1", purl };
  await state(project, "sbom", billOf([{ name: "lodash", version: "4.17.20" }, log4j]));
  await indexed(hub);
  await report(hub, { slug: "other", host: "h", version: "1.0.0" });
  const session = await hub.call("POST", "/app/deploy/v1/auth", {
    key: null,
    json: { xdevkey: project.key, project_id: project.id },
  });
  const deployed = { project_id: project.id, deployment_id: "d", status: "success", version: "1.0.0", plugins: [] };
  await hub.call("POST", "/app/deploy/v1/deployments/report", {
    bearer: session.body.access_token,
    json: { ...deployed, started_at: "", completed_at: "", host_id: "harbour-1" },
  });
  const admin = await new Visitor(hub.url).signIn(hub.adminKey);
  const find = async (q: string) => (await admin.request(`/components?q=${encodeURIComponent(q)}`)).html;
  t.match((await admin.request("/fleets")).html, 'href="/components"');
  t.match((await admin.request("/components")).html, /role="search"/);
  const html = await find("lodash@<4.17.21");
  t.match(html.replaceAll("<!-- -->", ""), /Demo<\/a>.+1\.0\.0.+lodash 4\.17\.20.+harbour-1<\/a>/s);
  t.match(html, `/projects/${project.id}/fleet/harbour-1"`);
  t.match((await find("lodash@>=5")).replaceAll("<!-- -->", ""), "No version with an SBOM contains lodash@&gt;=5.");
  t.match(await find("org.apache/log4j@<2.17"), "order of their versions is not known");
  t.match(await find("<script>alert(1)</script>"), "&lt;script&gt;alert(1)");
  t.equal((await admin.request("/components?q=pkg:")).status, 422);
});
