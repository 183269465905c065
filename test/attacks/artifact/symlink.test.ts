import t from "tap";
import { attackedHost } from "../../support/host/attacked-host.ts";

t.test("a symlink in an artifact is refused, wherever it points to", async (t) => {
  const host = await attackedHost(t);
  for (const linkname of ["/etc/passwd", "../../../../outside", "plugin.yaml", "."]) {
    await t.test(linkname, async (t) => {
      const link = { name: "./plugins/demo/link", type: "2", linkname };
      await host.refusesProject(t, { extra: [link] }, { code: "member_type" });
      const through = { name: "./plugins/demo/link/planted.txt", content: "x" };
      await host.refusesProject(t, { before: [link], extra: [through] }, { code: "member_type" });
    });
  }
  await t.test("also when only a pax or GNU header names its target", async (t) => {
    const pax = { name: "./plugins/demo/link", type: "2", pax: { linkpath: "/etc" } };
    await host.refusesProject(t, { extra: [pax] }, { code: "member_type" });
  });
});
