import t from "tap";
import { attackedHost } from "../../support/host/attacked-host.ts";

t.test("two members of one name are refused", async (t) => {
  const host = await attackedHost(t);
  const path = "./plugins/demo/src/main.js";
  const cases = {
    "a file twice": { name: path, content: "evil()" },
    "the same content twice": { name: path, content: 'export default "1.1.0";\n' },
    "without the leading ./": { name: path.slice(2), content: "evil()" },
    "the manifest": { name: "./manifest.json", content: "{}" },
    "the plan": { name: "deployment/install.yaml", content: "steps: []" },
  };
  for (const [what, extra] of Object.entries(cases)) {
    await t.test(what, (t) => host.refusesProject(t, { extra: [extra] }, { code: "member_duplicate" }));
  }
  await t.test("a folder twice", async (t) => {
    const folder = { name: "./plugins/demo/assets/", type: "5" };
    await host.refusesProject(t, { extra: [folder, folder] }, { code: "member_duplicate" });
  });
});
