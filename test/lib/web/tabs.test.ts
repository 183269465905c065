// Holds: which tabs a visitor sees (lib/web/page/target-layout.tsx)
import t from "tap";
import { SCOPES } from "../../../lib/contract/scopes.ts";
import { startHub } from "../../support/hub/harness.ts";
import { Visitor } from "../../support/hub/web.ts";

t.test("every tab of a target opens for the visitor who sees it", async (t) => {
  const hub = await startHub(t);
  const make = async (path: string, json: object) =>
    (await hub.call("POST", path, { json })).body as Record<string, string>;
  for (const kind of ["plugin", "service"]) await make("/devkeys/projects", { name: "Tide", kind, slug: "tide" });
  for (const kind of ["plugins", "services"]) {
    const { status } = await hub.call("PATCH", `/app/${kind === "plugins" ? "marketplace" : kind}/${kind}/tide`, {
      json: { visibility: "public" },
    });
    t.equal(status, 200);
  }
  const { id, slug } = await make("/devkeys/projects", { name: "Harbour", kind: "project" });
  const visited = async (owner: string, scopes: readonly string[], project?: string) => {
    const wanted = { name: "of a visitor", owner, scopes, ...(project !== undefined && { project_id: project }) };
    const { key } = await make("/devkeys/api-keys", wanted);
    const visitor = await new Visitor(hub.url).signIn(key!);
    const titles: string[] = [];
    for (const page of ["/plugins/tide", "/services/tide", `/projects/${slug}`]) {
      const { status, html } = await visitor.request(page);
      if (status !== 200) continue;
      const tabs = /<nav class="tabs".*?<\/nav>/s.exec(html)?.[0] ?? "";
      for (const [, path, title] of tabs.matchAll(/href="([^"]+)"[^>]*>([^<]+)</g)) {
        t.equal((await visitor.request(path!)).status, 200, `${path} for ${scopes.join(",")} of ${owner}`);
        titles.push(title!);
      }
    }
    return new Set(titles);
  };
  const some = SCOPES.filter((scope) => scope !== "admin");
  t.strictSame(await visited("stranger", some), new Set(["Overview", "Fleet", "Statements"]));
  t.ok((await visited("admin", some)).isSupersetOf(new Set(["Overview", "Fleet", "Rollouts", "Approval", "Hosts"])));
  for (const scope of some) {
    await visited("stranger", [scope]);
    await visited("admin", [scope]);
    await visited("admin", [scope], id);
  }
});
