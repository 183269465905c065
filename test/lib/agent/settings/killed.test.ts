// Holds: what a killed run of settings leaves (lib/agent/settings/apply.ts, lib/releases/leftovers.ts)
import { execFileSync } from "node:child_process";
import { cpSync } from "node:fs";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t, { type Test } from "tap";
import { DEPLOY_DEFAULTS } from "../../../../lib/agent/deployment/run.ts";
import { applySettings } from "../../../../lib/agent/settings/apply.ts";
import { type AcceptedSettings, NO_SETTINGS, writeFleetSettings } from "../../../../lib/releases/fleet-settings.ts";
import { readQuarantine } from "../../../../lib/releases/quarantine.ts";
import { applicationHost, appSource, PretendedApplications } from "../../../support/host/application-host.ts";
import { layoutOf } from "../../../support/host/project-root.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

const APP = "command: [sh, server.sh]\nenvironment: { optional: [LEVEL, KEY] }\n";
const PROGRAM = join(import.meta.dirname, "../../../support/programs/settings-states-program.ts");
const OWN = "# mine\nKEY=own\n";
const facts = { operator: "op", to: "to", digest: "d" };
const of = (number: number, level: string): AcceptedSettings => ({ ...facts, number, apps: { web: { LEVEL: level } } });
const [held, next] = [of(1, "info"), of(2, "debug")];
const source = appSource("1.0.0", ["web"], APP);

/** Carries out settings in a root whose application notes with which settings it was started. */
async function carryOut(root: string, settings: AcceptedSettings) {
  const started: string[] = [];
  const file = join(root, "apps/web.env");
  const pretended = new PretendedApplications(root, async () => void started.push(await readFile(file, "utf8")));
  const supervisor = { name: "none" as const, applications: async () => pretended.supervisor() };
  const options = { ...DEPLOY_DEFAULTS, projectRoot: root, hostId: "host", supervisor };
  const result = await applySettings(source, settings, options, () => undefined);
  return { result, started, text: await readFile(file, "utf8") };
}

/** Returns each state in which a kill leaves a root, with the texts of before and of the end. */
async function statesOf(t: Test) {
  const h = await applicationHost(t);
  t.match(await h.run(source), { outcome: "deployed" });
  await writeFile(join(h.root, "apps/web.env"), OWN, { mode: 0o600 });
  const { text: before } = await carryOut(h.root, held);
  await writeFleetSettings(h.layout, source.target, { ...NO_SETTINGS, held });
  const copies = temporaryFolder(t);
  const flags = process.execArgv.filter((flag) => flag.startsWith("--import=") && flag.includes("tsx"));
  const said = execFileSync(process.execPath, [...flags, PROGRAM, h.root, copies, JSON.stringify(next)]).toString();
  t.match(said, /^applied \d+\n$/);
  const after = await readFile(join(h.root, "apps/web.env"), "utf8");
  t.match([before, after], [/LEVEL=info/, /LEVEL=debug/]);
  const states = (await readdir(copies)).map((name) => join(copies, name));
  return { states, before, after };
}

/** Lists what a run has left that the next one should have removed. */
const leftovers = async (root: string): Promise<string[]> =>
  (await readdir(root, { recursive: true })).filter((path) => /former-|journal\.json|\.tmp$/.test(path));

t.test("a kill at any moment leaves the former settings or the new ones, and the next run brings either", async (t) => {
  const { states, before, after } = await statesOf(t);
  t.ok(states.length > 15, `${states.length} states`);
  for (const root of states) {
    const again = `${root}-again`;
    cpSync(root, again, { recursive: true, verbatimSymlinks: true });
    const found = await readFile(join(root, "apps/web.env"), "utf8");
    t.ok(found === before || found === after, `whole after ${root}`);

    const forward = await carryOut(root, next);
    t.match(forward.result, { state: "applied" });
    t.equal(forward.text, after);
    if (forward.started.length > 0) t.equal(forward.started.at(-1), after, "started with what stands there");

    // The operator has gone back meanwhile: what the kill left is undone.
    const back = await carryOut(again, held);
    t.match(back.result, { state: "applied" });
    t.equal(back.text, before);
    if (back.started.length > 0) t.equal(back.started.at(-1), before, "started with what stands there");
    for (const each of [root, again]) {
      t.strictSame(await leftovers(each), []);
      t.strictSame(await readQuarantine(layoutOf(each), source.target), [], "no version is blamed");
    }
  }
});
