import t from "tap";
import { localFeatures } from "../../support/hub/features.ts";
import { startHub } from "../../support/hub/harness.ts";
import { fillShownHub, pagesOf, publishFiles } from "../../support/hub/shown-hub.ts";
import { Visitor } from "../../support/hub/web.ts";

/** Leaving, and sending a message once more: one click may do that. */
const AT_ONCE = /\/(?:sign-out|test|redeliver)$/;

t.test("no page does anything by one click, with or without a script", async (t) => {
  const hub = await startHub(t, localFeatures());
  const { project, pluginId } = await fillShownHub(hub, { hosts: 8 });
  const url = "https://127.0.0.1:1/";
  const added = await hub.call("POST", "/devkeys/webhooks", {
    json: { name: "ops", url, target: "plugin:tide-table" },
  });
  const slug = "held-tide";
  const { body: held } = await hub.call("POST", "/devkeys/projects", { json: { name: "Held", kind: "plugin", slug } });
  await publishFiles(hub, { slug, version: "1.0.0" }, { "plugin.yaml": `name: ${slug}\n` });
  const rollouts = `/devkeys/projects/${held.id as string}/rollouts`;
  const { body: rollout } = await hub.call("POST", rollouts, { json: { version: "1.5.0" } });
  await publishFiles(hub, { slug, version: "2.0.0" }, { "plugin.yaml": `name: ${slug}\n` });
  await hub.call("POST", `${rollouts}/${rollout.id as string}/pause`);
  const admin = await new Visitor(hub.url).signIn(hub.adminKey);
  const buttons: Record<string, string[]> = {
    "/keys": ["Revoke reader"],
    "/plugins/tide-table/fleet/quay-01": ["Forget quay-01"],
    [`/webhooks/${added.body.id as string}`]: ["Remove ops"],
    [`/projects/${project.id}/hosts`]: ["Remove pier-2", "Approve pier-3"],
    "/plugins/tide-table": ["Yank 1.2.0", "Unyank 1.1.0"],
    "/plugins/tide-table/rollouts": ["Pause the rollout", "Approve the next wave", "Abort the rollout"],
    [`/plugins/${slug}`]: ["Give 2.0.0 to every host"],
    [`/plugins/${slug}/rollouts`]: ["Resume the rollout"],
    [`/staging/${pluginId}/1.3.0`]: ["Reject 1.3.0"],
  };
  let forms = 0;
  for (const page of [...Object.values(pagesOf(project.id)), ...Object.keys(buttons)]) {
    const { html } = await admin.request(page);
    for (const { index, 0: tag } of html.matchAll(/<form [^>]*method="post"[^>]*>/g)) {
      const action = /action="([^"]*)"/.exec(tag)![1]!;
      if (AT_ONCE.test(action)) continue;
      forms++;
      const before = html.slice(0, index);
      t.ok(before.lastIndexOf("<details") > before.lastIndexOf("</details>"), `${page}: ${action} has to be opened`);
      t.match(before.slice(before.lastIndexOf("<details")), "</summary>");
      const form = html.slice(index, html.indexOf("</form>", index));
      t.match(form, /<p>[^<]+[?.]<|<label/, `${page}: ${action} asks`);
    }
    for (const button of buttons[page] ?? [])
      t.match(html.replaceAll("<!-- -->", ""), new RegExp(`<button[^>]*>${button}</button>`), page);
  }
  t.ok(forms > 40, `${forms} forms`);
});
