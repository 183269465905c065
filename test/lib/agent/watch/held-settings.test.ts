// Holds: a version whose required settings nobody gives yet (lib/releases/holds.ts)
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t, { type Test } from "tap";
import { situationOnDisk } from "../../../../lib/agent/newest/on-disk.ts";
import { whyNotNewest } from "../../../../lib/agent/newest/why.ts";
import { NO_SETTINGS, writeFleetSettings } from "../../../../lib/releases/fleet-settings.ts";
import { readHeld } from "../../../../lib/releases/holds.ts";
import { readQuarantine } from "../../../../lib/releases/quarantine.ts";
import { APP, appFiles, applicationHost, installing } from "../../../support/host/application-host.ts";
import { GIVEN_TARGET } from "../../../support/host/given-source.ts";
import { givenTarget, watching } from "../../../support/host/watching.ts";

const NEEDS = `${APP}environment: { required: [TOKEN] }\n`;
const missing = { outcome: "failed", code: "env_missing" } as const;

async function waiting(t: Test, awaitsSettings: boolean) {
  const h = await applicationHost(t);
  const { supervisor, projectRoot } = h.options;
  const given = (version: string) => ({ files: appFiles("web", version, NEEDS) });
  const target = givenTarget(projectRoot, { steps: installing("web"), given, deploy: { supervisor, awaitsSettings } });
  target.publish("1.0.0");
  const w = watching(t, [target]);
  await w.until("deploy.done", missing);
  return { h, w, target, tried: () => w.all("deploy.started").length };
}

t.test(
  "where an operator is pinned, a version without settings is fetched once, and deployed when they come",
  async (t) => {
    const { h, w, tried } = await waiting(t, true);
    t.match(await w.until("target.held"), {
      version: "1.0.0",
      reason: "settings",
      message: /web needs values for TOKEN/,
    });
    for (let checks = 0; checks < 4; checks++) await w.until("check.scheduled");
    t.equal(tried(), 1, "later checks fetch nothing");
    t.equal(w.all("target.held").length, 1, "and it is said once");
    t.strictSame(await readQuarantine(h.layout, GIVEN_TARGET), []);
    const situation = await situationOnDisk(h.layout, GIVEN_TARGET);
    t.match(whyNotNewest(situation), { reason: "settings", message: /TOKEN/, hint: /settings apply/ });

    const held = { operator: "ab", to: "cd", number: 1, digest: "ef", apps: { web: { TOKEN: "t" } } };
    await writeFleetSettings(h.layout, GIVEN_TARGET, { ...NO_SETTINGS, held });
    t.match(await w.until("deploy.done", { outcome: "deployed" }), { version: "1.0.0" });
    t.equal(tried(), 2);
    t.equal(await readHeld(h.layout, GIVEN_TARGET, "settings"), undefined);
    await w.stop();
  },
);

t.test("a value that the host sets itself ends the wait, and so does a newer version", async (t) => {
  const { h, w, target, tried } = await waiting(t, true);
  await w.until("target.held", { version: "1.0.0", reason: "settings" });
  target.publish("1.1.0");
  await w.until("target.held", { version: "1.1.0", reason: "settings" });
  t.equal(tried(), 2);
  await mkdir(join(h.options.projectRoot, "apps"), { recursive: true });
  await writeFile(join(h.options.projectRoot, "apps/web.env"), "TOKEN=mine\n", { mode: 0o600 });
  t.match(await w.until("deploy.done", { outcome: "deployed" }), { version: "1.1.0" });
  await w.stop();
});

t.test("settings that a killed watch has left half written are removed by the next one", async (t) => {
  const h = await applicationHost(t);
  const state = join(h.layout.sealift, "state");
  await mkdir(state, { recursive: true });
  const half = `.settings-${GIVEN_TARGET}.json.0123456789ab.tmp`;
  await writeFile(join(state, half), "SECRET", { mode: 0o600 });
  const w = watching(t, [givenTarget(h.options.projectRoot)]);
  await w.until("check.scheduled");
  t.notOk((await readdir(state)).includes(half));
  await w.stop();
});

t.test("a host without an operator tries again as before", async (t) => {
  const { h, w } = await waiting(t, false);
  t.strictSame([w.all("target.held"), await readHeld(h.layout, GIVEN_TARGET, "settings")], [[], undefined]);
  await w.stop();
});
