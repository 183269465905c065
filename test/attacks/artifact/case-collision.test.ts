import t from "tap";
import { attackedHost } from "../../support/host/attacked-host.ts";

t.test("names that differ only in case are refused: some file systems hold them equal", async (t) => {
  const host = await attackedHost(t);
  const names = ["./plugins/demo/Plugin.yaml", "./PLUGINS/demo/other.txt", "./MANIFEST.json", "./Plugins/"];
  for (const name of names) {
    await t.test(name, (t) => host.refusesProject(t, { extra: [{ name }] }, { code: "member_duplicate" }));
  }
});
