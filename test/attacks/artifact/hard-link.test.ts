import { join } from "node:path";
import t from "tap";
import { attackedHost } from "../../support/host/attacked-host.ts";

t.test("a hard link in an artifact is refused, inside and outside", async (t) => {
  const host = await attackedHost(t);
  for (const linkname of ["./plugins/demo/plugin.yaml", join(host.root, "operator.txt"), "../../../../operator.txt"]) {
    const link = { name: "./plugins/demo/link", type: "1", linkname };
    await host.refusesProject(t, { extra: [link] }, { code: "member_type" });
    await host.refusesProject(t, { extra: [{ ...link, content: "overwrites its target" }] }, { code: "member_type" });
  }
});
