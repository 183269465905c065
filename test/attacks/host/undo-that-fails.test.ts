// Holds: an undo that fails, or that is killed, claims nothing and forgives nothing (lib/agent/deployment/undo.ts)
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { readQuarantine } from "../../../lib/releases/quarantine.ts";
import { applicationHost, appSource } from "../../support/host/application-host.ts";
import { GIVEN_TARGET } from "../../support/host/given-source.ts";

t.test("what could not be undone is not said to be back", async (t) => {
  const h = await applicationHost(t);
  t.match(await h.run(appSource("1.0.0")), { outcome: "deployed" });
  const settings = join(h.root, "apps/web.env");
  await rm(settings, { force: true });
  h.pretended.faults.set("2.0.0", "it answered 500");
  // A file of this deployment that nobody can remove.
  h.pretended.onCheck = async () => {
    await rm(settings, { force: true });
    await mkdir(settings, { recursive: true });
    await writeFile(join(settings, "file"), "");
  };
  const result = await h.run(appSource("2.0.0", ["web"], undefined, { "apps/web/.env.template": "A=b\n" }));
  t.ok(h.events.some((one) => one.event === "warning" && one.message.startsWith("Undoing the deployment met")));
  t.notOk(h.events.some(({ event }) => event === "rollback.done"));
  t.match(result, { outcome: "failed", error: { code: "unhealthy" } });
  t.notMatch(result.error?.message, /is back/);
  t.match(await readQuarantine(h.layout, GIVEN_TARGET), [{ version: "2.0.0", code: "unhealthy" }]);
  await rm(settings, { recursive: true });
  h.pretended.onCheck = undefined;
  t.match(await h.run(appSource("1.0.0")), { outcome: "unchanged" });
  t.equal(h.pretended.running.get("web"), "1.0.0", "the next run finishes it");
});

t.test("a version is condemned before anything of the former one starts", async (t) => {
  const h = await applicationHost(t);
  t.match(await h.run(appSource("1.0.0")), { outcome: "deployed" });
  h.pretended.faults.set("2.0.0", "it answered 500");
  const held: number[] = [];
  h.pretended.onStart = async () => void held.push((await readQuarantine(h.layout, GIVEN_TARGET)).length);
  t.match(await h.run(appSource("2.0.0")), { outcome: "rolled_back" });
  t.same(held, [0, 1], "a kill while it starts, or migrates, must not let the version in again");
});
