import t from "tap";
import { startHub } from "../../support/hub/harness.ts";
import { fillShownHub } from "../../support/hub/shown-hub.ts";
import { Visitor } from "../../support/hub/web.ts";

t.test("no page revokes, forgets or removes by one click, with or without a script", async (t) => {
  const hub = await startHub(t, { webhookAllow: ["127.0.0.0/8"] });
  const { project } = await fillShownHub(hub, { hosts: 1 });
  const url = "https://127.0.0.1:1/";
  const added = await hub.call("POST", "/devkeys/webhooks", {
    json: { name: "ops", url, target: "plugin:tide-table" },
  });
  const admin = await new Visitor(hub.url).signIn(hub.adminKey);
  const pages = {
    "/keys": "Revoke reader",
    "/plugins/tide-table/fleet/quay-01": "Forget quay-01",
    [`/webhooks/${added.body.id as string}`]: "Remove ops",
    [`/projects/${project.id}/hosts`]: "Remove pier-2",
  };
  for (const [page, button] of Object.entries(pages)) {
    const { html } = await admin.request(page);
    const removals = [...html.matchAll(/<form[^>]*action="[^"]*\/(?:revoke|forget|remove)"/g)];
    t.ok(removals.length > 0, page);
    for (const { index } of removals) {
      const before = html.slice(0, index);
      t.ok(before.lastIndexOf("<details") > before.lastIndexOf("</details>"), `${page}: the form has to be opened`);
      t.match(before.slice(before.lastIndexOf("<details")), "</summary>");
      t.match(html.slice(index, html.indexOf("</form>", index)), /<p>[^<]+\?/, `${page}: it asks`);
    }
    t.match(html.replaceAll("<!-- -->", ""), `<button class="bad">${button}</button>`);
  }
});
