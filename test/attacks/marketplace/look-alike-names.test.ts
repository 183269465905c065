/** A stranger takes a name that people read as another owner's, or asks for names to find what is hidden. */
import t from "tap";
import { type RunningHub, startHub } from "../../support/hub/harness.ts";

const ALIKE = ["tide-tab1e", "t1de-table", "tidetable", "tide_tabie", "tide.table", "tide--table"];

async function keyOf(hub: RunningHub, owner: string): Promise<string> {
  const json = { name: owner, owner, scopes: ["projects", "publish", "read"] };
  return (await hub.call("POST", "/devkeys/api-keys", { json })).body.key as string;
}

for (const visibility of ["public", "private"]) {
  t.test(`a name like a ${visibility} plugin's`, async (t) => {
    for (const names of ["warn", "strict"] as const) {
      const hub = await startHub(t, { names, dataDir: `${t.testdir()}/${names}` });
      const [owner, stranger] = [await keyOf(hub, "owner"), await keyOf(hub, "stranger")];
      const take = (slug: string, key: string) =>
        hub.call("POST", "/devkeys/projects", { json: { name: slug, kind: "plugin", slug }, key });
      t.equal((await take("tide-table", owner)).status, 201);
      const hidden = { json: { visibility }, key: owner };
      t.equal((await hub.call("PATCH", "/app/marketplace/plugins/tide-table", hidden)).status, 200);
      for (const slug of ALIKE) {
        const { status, body } = await take(slug, stranger);
        const text = JSON.stringify(body);
        t.equal(text.includes("tide-table"), visibility === "public", `${names}: ${slug} names what the stranger sees`);
        if (names === "strict") t.match({ status, body }, { status: 409, body: { code: "name_lookalike" } }, slug);
        else {
          t.equal(status, 201, slug);
          const shown = await hub.call("GET", `/devkeys/projects/${body.id as string}`, { key: stranger });
          t.equal(JSON.stringify(shown.body).includes("tide-table"), visibility === "public", `${slug} when shown`);
          const { body: log } = await hub.call("GET", "/devkeys/audit?action=project.create&limit=1");
          t.match(log.items[0].facts, { slug, looks_like: "tide-table" }, `administrators find ${slug}`);
        }
      }
    }
  });
}
