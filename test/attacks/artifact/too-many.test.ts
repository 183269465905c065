import t from "tap";
import { DEFAULT_LIMITS } from "../../../lib/artifact/limits.ts";
import { projectTar } from "../../support/forged/artifact.ts";
import { attackedHost } from "../../support/host/attacked-host.ts";

t.test("an archive with more members than the limit is refused", async (t) => {
  const host = await attackedHost(t);
  const options = { limits: { ...DEFAULT_LIMITS, maxEntries: 40 } };
  const many = Array.from({ length: 50 }, (_, i) => ({ name: `./plugins/demo/f${i}`, content: "" }));
  await host.refusesProject(t, { extra: many }, { code: "limit_exceeded" }, { options });
  const folders = Array.from({ length: 50 }, (_, i) => ({ name: `./plugins/demo/d${i}/` }));
  await host.refusesProject(t, { extra: folders }, { code: "limit_exceeded" }, { options });

  await t.test("and one with exactly as many is not", async (t) => {
    const version = host.nextVersion();
    await host.publish(version, host.seal(projectTar(host.describe(version))));
    // The root, the manifest, the plan and the plugin's two files.
    const exact = { limits: { ...DEFAULT_LIMITS, maxEntries: 5 } };
    t.equal((await host.deploy(version, { options: exact })).outcome, "deployed");
  });
});
