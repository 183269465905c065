import t from "tap";
import { featureRights } from "../../support/hub/features.ts";
import { startHub } from "../../support/hub/harness.ts";
import { fillShownHub, publishFiles } from "../../support/hub/shown-hub.ts";
import { Visitor } from "../../support/hub/web.ts";

t.test("each kind of key gets on a page what it gets from the API, and 404 or 403 for all else", async (t) => {
  const hub = await startHub(t);
  const { project, pluginId } = await fillShownHub(hub, { hosts: 5 });
  const json = { name: "Secret", kind: "plugin", slug: "secret" };
  const { id: secretId } = (await hub.call("POST", "/devkeys/projects", { json })).body as { id: string };
  await publishFiles(hub, { slug: "secret", version: "1.0.0" }, { "plugin.yaml": "name: secret\n" });
  await hub.call("PATCH", "/app/marketplace/plugins/secret", { json: { visibility: "private" } });
  const keyWith = async (json: object): Promise<string> => {
    const { body } = await hub.call("POST", "/devkeys/api-keys", { json: { name: "some", ...json } });
    return (body as { key: string }).key;
  };
  const all = ["keys", "projects", "publish", "deploy", "report", "read"];
  const keys: Record<string, string> = {
    administrator: hub.adminKey,
    reader: await keyWith({ scopes: ["read"] }),
    "one that only reports": await keyWith({ scopes: ["report"] }),
    "one that only publishes": await keyWith({ scopes: ["publish"] }),
    "one that only stages": await keyWith({ scopes: ["stage"] }),
    "another owner's": await keyWith({ owner: "else", scopes: all }),
    "one of the project": await keyWith({ project_id: project.id, scopes: all }),
    "one of the plugin": await keyWith({ project_id: pluginId, scopes: all }),
    "another owner's administrator of one plugin": await keyWith({
      owner: "else",
      project_id: pluginId,
      scopes: ["admin"],
    }),
  };
  const market = "/app/marketplace/plugins";
  const featurePages = featureRights({ project: project.id, plugin: pluginId, secret: secretId });
  const pages: Record<string, string> = {
    "/": market,
    "/plugins/tide-table": `${market}/tide-table/versions`,
    "/plugins/secret": `${market}/secret/versions`,
    "/plugins/missing": `${market}/missing/versions`,
    "/plugins/tide-table/fleet": "/app/deployments/deployments/plugin/tide-table/hosts",
    "/plugins/secret/fleet": "/app/deployments/deployments/plugin/secret/hosts",
    [`/projects/${project.id}`]: `/devkeys/projects/${project.id}/versions`,
    [`/projects/${project.id}/fleet`]: `/app/deploy/v1/projects/${project.id}/hosts`,
    "/fleets": "/app/deployments/deployments/fleets",
    "/projects": "/devkeys/projects",
    "/keys": "/devkeys/api-keys",
    "/audit": "/devkeys/audit",
    ...featurePages,
  };
  for (const [name, key] of Object.entries(keys)) {
    const visitor = await new Visitor(hub.url).signIn(key);
    for (const [page, route] of Object.entries(pages)) {
      const { status: wanted } = await hub.call("GET", route, { key });
      const { status, html } = await visitor.request(page);
      if (wanted === 200) t.equal(status, 200, `${name}: ${page}`);
      else t.ok(status === 404 || status === 403, `${name}: ${page} gives ${status}, the API ${wanted}`);
      if (status !== 200) t.notMatch(html, /Secret|quay-0|slk_/, `${name}: ${page} tells nothing`);
    }
  }
  const hidden = await new Visitor(hub.url).signIn(keys["another owner's"]!);
  const featureTabs = Object.keys(featurePages).flatMap((page) => /^\/plugins\/secret(\/.*)/.exec(page)?.[1] ?? []);
  for (const path of ["", "/compare?from=1&to=2", "/fleet", "/fleet/quay-01", ...featureTabs]) {
    const [secret, missing] = [
      await hidden.request(`/plugins/secret${path}`),
      await hidden.request(`/plugins/missing${path}`),
    ];
    const bare = (html: string) => html.replaceAll(/value="[^"]*"/g, "").replaceAll(/secret|missing/g, "x");
    t.equal(secret.status, 404, path);
    t.equal(bare(secret.html), bare(missing.html), "a hidden plugin and a missing one are the same page");
  }
});
