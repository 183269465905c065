// Holds: settings of the fleet beside what else happens on a host (lib/agent/settings/apply.ts)
import { execFileSync } from "node:child_process";
import {
  chownSync,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { DEPLOY_DEFAULTS } from "../../../../lib/agent/deployment/run.ts";
import { applySettings } from "../../../../lib/agent/settings/apply.ts";
import { MAX_APPLICATIONS } from "../../../../lib/contract/settings/limits.ts";
import { changeSetting } from "../../../../lib/releases/application-settings.ts";
import { type AcceptedSettings, NO_SETTINGS, writeFleetSettings } from "../../../../lib/releases/fleet-settings.ts";
import { readQuarantine } from "../../../../lib/releases/quarantine.ts";
import { applicationHost, appSource } from "../../../support/host/application-host.ts";
import { mountMemory } from "../../../support/host/loop-file-system.ts";

const BASE = "command: [sh, server.sh]\n";
const APP = `${BASE}environment: { optional: [LEVEL, KEY] }\n`;
const isRoot = process.getuid?.() === 0;

/** A host whose application `web` has settings of the fleet, and dies of the level `bad`. */
async function settled(t: Test, where?: string) {
  const h = await applicationHost(t, undefined, where);
  const source = appSource("1.0.0", ["web"], APP);
  const { root, layout, pretended } = h;
  const file = join(root, "apps/web.env");
  const text = () => readFileSync(file, "utf8");
  pretended.onStart = async () => {
    if (existsSync(file) && text().includes("LEVEL=bad")) pretended.faults.set("1.0.0", "it exited with 1");
    else pretended.faults.delete("1.0.0");
  };
  let number = 0;
  /** Carries out settings; the host holds those that are applied, as its watch notes. */
  const settings = async (apps: AcceptedSettings["apps"]) => {
    const next = { operator: "op", to: "to", digest: "d", number: ++number, apps };
    const result = await applySettings(source, next, { ...DEPLOY_DEFAULTS, ...h.options }, (event) =>
      h.events.push(event),
    );
    if (result.state === "applied") await writeFleetSettings(layout, source.target, { ...NO_SETTINGS, held: next });
    return result;
  };
  t.match(await h.run(source), { outcome: "deployed" });
  const state = join(layout.sealift, "state");
  const former = () => readdirSync(state).filter((name) => name.includes("former"));
  return { ...h, source, file, text, settings, former, state };
}

t.test("a value that breaks the application blames no version and is no report", async (t) => {
  const { settings, text, layout, source, pretended, events } = await settled(t);
  t.match(await settings({ web: { LEVEL: "info" } }), { state: "applied" });
  const [good, reports] = [text(), readdirSync(layout.reports(source.target)).length];
  const from = events.length;
  t.match(await settings({ web: { LEVEL: "bad" } }), { state: "failed", code: "unhealthy", release: /1\.0\.0/ });
  t.equal(text(), good);
  t.strictSame([...pretended.running], [["web", "1.0.0"]]);
  t.strictSame(await readQuarantine(layout, source.target), []);
  t.equal(readdirSync(layout.reports(source.target)).length, reports, "a rollout hears nothing of it");
  t.notMatch(events.slice(from), [{ event: /report/ }]);
});

t.test("a version and the settings for it may arrive together, or the settings first", async (t) => {
  const { settings, text, run } = await settled(t);
  const early = await settings({ web: { LEVEL: "info", TOKEN: "t" } });
  t.match(early, { state: "applied", ignored: [{ name: "web.TOKEN", code: "settings_undeclared" }] });
  t.notMatch(text(), "TOKEN");
  const needs = `${BASE}environment: { required: [TOKEN], optional: [LEVEL] }\n`;
  t.match(await run(appSource("1.1.0", ["web"], needs)), { outcome: "deployed" });
  t.match(text(), /LEVEL=info\nTOKEN=t\n/);
});

t.test("a rollback, and a deployment by hand, write the block as their version reads it", async (t) => {
  const { settings, text, run, back } = await settled(t);
  await settings({ web: { LEVEL: "info", TOKEN: "t" } });
  await run(appSource("1.1.0", ["web"], `${BASE}environment: { optional: [LEVEL, TOKEN] }\n`));
  t.match(text(), /LEVEL=info\nTOKEN=t\n/);
  t.match(await back(), { outcome: "deployed" });
  t.match(text(), /LEVEL=info\n#/);
  t.notMatch(text(), "TOKEN");
  await run(appSource("1.2.0", ["web"], `${BASE}environment: { optional: [TOKEN] }\n`));
  t.notMatch(text(), "LEVEL=");
  await run(appSource("1.3.0", ["web"], BASE));
  t.notMatch(text(), "settings of the fleet");
});

t.test("settings of an application that another target installs are passed by", async (t) => {
  const { settings, text } = await settled(t);
  const result = await settings({ api: { LEVEL: "x" }, web: { LEVEL: "info", NODE_OPTIONS: "-r evil", PORT: "1" } });
  t.strictSame(result.ignored, [
    { name: "api.LEVEL", code: "settings_foreign" },
    { name: "web.NODE_OPTIONS", code: "settings_reserved" },
    { name: "web.PORT", code: "settings_reserved" },
  ]);
  t.notMatch(text(), /NODE_OPTIONS|PORT/);
});

t.test(
  "two hundred applications get their settings in one run, and only those that change are restarted",
  async (t) => {
    const ids = Array.from({ length: MAX_APPLICATIONS }, (_, index) => `app-${index}`);
    const grants = `supervisor: serve\napplications: { ${ids.map((id) => `${id}: {}`).join(", ")} }\n`;
    const h = await applicationHost(t, grants);
    const source = appSource("1.0.0", ids, APP);
    t.match(await h.run(source), { outcome: "deployed" });
    const carryOut = async (number: number, levels: (index: number) => string) => {
      const apps = Object.fromEntries(ids.map((id, index) => [id, { LEVEL: levels(index) }]));
      const next = { operator: "op", to: "to", digest: "d", number, apps };
      const result = await applySettings(source, next, { ...DEPLOY_DEFAULTS, ...h.options }, () => undefined);
      await writeFleetSettings(h.layout, source.target, { ...NO_SETTINGS, held: next });
      return result;
    };
    t.match(await carryOut(1, () => "info"), { state: "applied", units: { length: MAX_APPLICATIONS } });
    const calls = h.pretended.calls.length;
    t.match(await carryOut(2, (index) => (index === 7 ? "debug" : "info")), { units: ["apps/app-7"] });
    t.notMatch(h.pretended.calls.slice(calls).join(), /app-(?!7\b)/);
  },
);

t.test("a link at apps/web.env becomes a file, as `app env set` makes it, and its target stays as it is", async (t) => {
  const { settings, file, text, root, former, layout } = await settled(t);
  const elsewhere = join(root, "elsewhere.env");
  writeFileSync(elsewhere, "KEY=linked\n");
  const linked = (): void => {
    rmSync(file, { force: true });
    symlinkSync("../elsewhere.env", file);
  };
  linked();
  await changeSetting(layout, "web", "MINE", "1");
  t.ok(lstatSync(file).isFile());
  linked();
  t.match(await settings({ web: { LEVEL: "info" } }), { state: "applied" });
  t.ok(lstatSync(file).isFile());
  t.match(text(), /^KEY=linked\n# >>>[^\n]*\nLEVEL=info\n/);
  linked();
  t.match(await settings({ web: { LEVEL: "bad" } }), { state: "failed" });
  t.equal(text(), "KEY=linked\n", "what was before counts again");
  t.equal(readFileSync(elsewhere, "utf8"), "KEY=linked\n");
  t.strictSame(former(), []);
});

t.test("a link in the place of the former settings is not followed", async (t) => {
  const { settings, state, root, text } = await settled(t);
  await settings({ web: { LEVEL: "info" } });
  const victim = join(root, "victim");
  writeFileSync(victim, "mine");
  symlinkSync(victim, join(state, "former-apps-web.env"));
  const good = text();
  t.match(await settings({ web: { LEVEL: "bad" } }), { state: "failed" });
  t.equal(text(), good);
  t.equal(readFileSync(victim, "utf8"), "mine");
});

for (const [what, put] of [
  ["pipe", (file: string) => execFileSync("mkfifo", [file])],
  ["folder", (file: string) => execFileSync("mkdir", [file])],
] as const)
  t.test(`a ${what} at apps/web.env is told by its path, and nothing is stopped`, async (t) => {
    const { settings, file, pretended, run, layout } = await settled(t);
    rmSync(file, { force: true });
    put(file);
    const calls = pretended.calls.length;
    const result = await settings({ web: { LEVEL: "info" } });
    t.match(result, {
      state: "failed",
      code: "config_invalid",
      error: { message: `${file} cannot be read: it is a ${what}` },
    });
    t.equal(pretended.calls.length, calls);
    t.match(await run(appSource("1.1.0", ["web"], APP)), { outcome: "failed", error: { code: "config_invalid" } });
    await t.rejects(changeSetting(layout, "web", "MINE", "1"), { code: "config_invalid" });
    rmSync(file, { recursive: true });
    t.match(await settings({ web: { LEVEL: "info" } }), { state: "applied" });
  });

t.test(
  "a file of another user becomes the agent's own, for nobody else",
  { skip: !isRoot && "needs root" },
  async (t) => {
    const { settings, file } = await settled(t);
    writeFileSync(file, "KEY=mine\n", { mode: 0o666 });
    chownSync(file, 61_234, 61_234);
    t.match(await settings({ web: { LEVEL: "info" } }), { state: "applied" });
    t.match(statSync(file), { uid: 0, gid: 0, mode: 0o100600 });
  },
);

t.test("a full disk fails no settings: what was before is there, and they are tried again", async (t) => {
  const mounted = mountMemory(t, 1024 * 1024);
  if ("reason" in mounted) return void t.pass(`skipped: ${mounted.reason}`);
  const { settings, text, root, former } = await settled(t, mounted.folder);
  await settings({ web: { LEVEL: "info" } });
  const good = text();
  const filler = join(root, "filler");
  // Fewer pages are free than the run writes: it ends at another file each time.
  for (let pages = 0; pages < 6; pages++) {
    writeFileSync(filler, "");
    const fill = (): void => {
      for (;;) writeFileSync(filler, Buffer.alloc(4096), { flag: "a" });
    };
    t.throws(fill, { code: "ENOSPC" });
    truncateSync(filler, statSync(filler).size - pages * 4096);
    const long = "x".repeat(10_000);
    await t.rejects(settings({ web: { LEVEL: long } }), { code: /disk_full|ENOSPC/ }, `${pages} pages`);
    rmSync(filler);
    t.equal(text(), good, "whole");
  }
  t.match(await settings({ web: { LEVEL: "debug" } }), { state: "applied" });
  t.match(text(), "LEVEL=debug");
  t.strictSame(former(), []);
});
