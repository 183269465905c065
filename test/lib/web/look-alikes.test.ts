// Holds: who reads on a page which names look like its own (lib/web/catalogue/target-screens.tsx)
import t from "tap";
import { startHub } from "../../support/hub/harness.ts";
import { Visitor } from "../../support/hub/web.ts";

t.test("the page of a plugin tells its owner and administrators of names like it", async (t) => {
  const hub = await startHub(t);
  const keyOf = async (owner: string): Promise<string> => {
    const json = { name: owner, owner, scopes: ["projects", "publish", "read"] };
    return ((await hub.call("POST", "/devkeys/api-keys", { json })).body as { key: string }).key;
  };
  const keys = { harbour: await keyOf("harbour"), vendor: await keyOf("vendor"), stranger: await keyOf("stranger") };
  const create = (slug: string, key: string) =>
    hub.call("POST", "/devkeys/projects", { json: { name: slug, kind: "plugin", slug }, key });
  await create("tide-table", keys.harbour);
  await create("tide-tab1e", keys.vendor);
  const shown = async (key: string, slug: string) =>
    (await (await new Visitor(hub.url).signIn(key)).request(`/plugins/${slug}`)).html;
  const notice = /This name looks like that of another owner/;
  const link = /<a href="[^"]*\/plugins\/tide-table">tide-table<\/a>/;
  for (const key of [keys.vendor, hub.adminKey]) {
    const html = await shown(key, "tide-tab1e");
    t.match(html, notice);
    t.match(html, link);
  }
  t.match(await shown(keys.harbour, "tide-table"), notice);
  t.notMatch(await shown(keys.stranger, "tide-tab1e"), notice);
  t.notMatch((await new Visitor(hub.url).request("/plugins/tide-tab1e")).html, notice);
});
