// Holds: what a host says of the settings with which its first version is to start (lib/agent/settings/first-start.ts)
import { existsSync, readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t, { type Test } from "tap";
import type { SettingsSource } from "../../../../lib/agent/settings/follow.ts";
import { hostKeyOf, newHostSeed } from "../../../../lib/artifact/sealed/host-key.ts";
import { readOutcome, sealSettings } from "../../../../lib/artifact/sealed/settings.ts";
import { publicKeyOf } from "../../../../lib/artifact/signatures/ed25519.ts";
import type { OwnSettingsClient } from "../../../../lib/client/settings.ts";
import { deploymentError } from "../../../../lib/contract/errors.ts";
import { noteStopped } from "../../../../lib/releases/stopped.ts";
import { appFiles, applicationHost, GRANTS, installing } from "../../../support/host/application-host.ts";
import { givenTarget, watching } from "../../../support/host/watching.ts";

const PROJECT = `prj_${"0".repeat(32)}`;
const YAML = "command: [sh, server.sh]\nenvironment: { required: [TOKEN], optional: [LEVEL] }\n";

/** An empty host with an operator, at a hub that publishes 1.0.0; the application dies of the level `bad`. */
async function emptyHost(t: Test, awaitsSettings = true) {
  const h = await applicationHost(t);
  const operator = newHostSeed();
  const key = hostKeyOf(newHostSeed());
  const said: { number: number; state: string; code: string | null }[] = [];
  const ignored: { name: string; code: string }[][] = [];
  const hub = { number: 0, sealed: "", refusal: undefined as Error | undefined, isAway: false };
  const client = {
    read: async () => ({ number: hub.number, sealed: hub.sealed, to: key.fingerprint }),
    sendOutcome: async (text: string) => {
      if (hub.isAway) throw deploymentError("hub_unavailable", "The hub is away.");
      const { number, state, code, ignored: unused } = readOutcome(text, { ...key, project: PROJECT });
      said.push({ number, state, code });
      ignored.push(unused);
    },
  } as unknown as OwnSettingsClient;
  const file = join(h.root, "apps/web.env");
  h.pretended.onStart = async () => {
    if (existsSync(file) && readFileSync(file, "utf8").includes("LEVEL=bad"))
      h.pretended.faults.set("1.0.0", "it exited with 1");
    else h.pretended.faults.delete("1.0.0");
  };
  const { supervisor, projectRoot } = h.options;
  const target = givenTarget(projectRoot, {
    steps: installing("web"),
    deploy: { supervisor, awaitsSettings },
    given: (version) => ({
      files: appFiles("web", version, YAML),
      ...(hub.refusal !== undefined && { fetch: () => Promise.reject(hub.refusal!) }),
    }),
  });
  const settings: SettingsSource = {
    ...{ key, project: PROJECT, card: undefined, client: () => client },
    operators: [Buffer.from(publicKeyOf(operator)).toString("hex")],
  };
  const give = (web: Record<string, string>, version: string | null = "1.0.0"): void => {
    const number = ++hub.number;
    const document = { project: PROJECT, to: key.fingerprint, number, made_at: "2026-01-01T00:00:00Z", apps: { web } };
    hub.sealed = sealSettings(document, key.x25519, operator).sealed.toString("base64");
    target.publish(version, { settingsVersion: number });
  };
  return { ...h, hub, said, ignored, target, give, watch: () => watching(t, [{ ...target, settings }]) };
}

type Host = Awaited<ReturnType<typeof emptyHost>>;
/** Waits for two whole turns more, of which the first may have begun before. */
async function turns(w: ReturnType<Host["watch"]>): Promise<void> {
  for (let times = 0; times < 2; times++) await w.until("check.scheduled");
}

t.test("a first value that the application dies of has failed, and the next one starts it", async (t) => {
  const { give, said, watch, pretended } = await emptyHost(t);
  give({ TOKEN: "t", LEVEL: "bad" });
  const w = watch();
  await w.until("deploy.done", { code: "unhealthy" });
  t.match(await w.until("settings.done", { state: "failed" }), { number: 1, code: "unhealthy" });
  await turns(w);
  t.strictSame(said, [{ number: 1, state: "failed", code: "unhealthy" }], "never that it works, and once");
  give({ TOKEN: "t" });
  await w.until("deploy.done", { outcome: "deployed" });
  await turns(w);
  t.strictSame(said.slice(1), [{ number: 2, state: "applied", code: null }]);
  t.equal(pretended.running.get("web"), "1.0.0");
  await w.stop();
});

t.test("values that lack a required one have failed; the host's own makes them work", async (t) => {
  const { give, said, ignored, watch, root } = await emptyHost(t);
  give({ LEVEL: "info", LEVLE: "info" });
  const w = watch();
  await w.until("target.held", { reason: "settings" });
  await turns(w);
  t.strictSame(said, [{ number: 1, state: "failed", code: "env_missing" }]);
  await mkdir(join(root, "apps"), { recursive: true });
  await writeFile(join(root, "apps/web.env"), "TOKEN=mine\n", { mode: 0o600 });
  await w.until("deploy.done", { outcome: "deployed" });
  await turns(w);
  t.strictSame(said.slice(1), [{ number: 1, state: "applied", code: null }]);
  t.strictSame(ignored, [[], [{ name: "web.LEVLE", code: "settings_undeclared" }]]);
  await w.stop();
});

for (const [version, code] of [
  [null, "no_version"],
  ["1.0.0", "app_not_allowed"],
] as const)
  t.test(`where nothing starts (${code}), they are taken and untried, until it does`, async (t) => {
    const { give, said, watch, allow, target, hub, ignored } = await emptyHost(t);
    if (version !== null) await allow("supervisor: serve\napplications: {}\n");
    give({ TOKEN: "t" }, version);
    const w = watch();
    await turns(w);
    t.strictSame(said, [{ number: 1, state: "applied", code: null }]);
    t.strictSame(ignored, [[{ name: "web", code }]], "another host is tried first");
    await allow(GRANTS);
    target.publish("1.0.0", { settingsVersion: hub.number });
    await w.until("deploy.done", { outcome: "deployed" });
    await turns(w);
    t.strictSame([said.length, ignored.at(-1)], [2, []]);
    await w.stop();
  });

t.test("one that was taken while its application was not allowed fails when that dies of it", async (t) => {
  const { give, said, watch, allow, ignored } = await emptyHost(t);
  await allow("supervisor: serve\napplications: {}\n");
  give({ TOKEN: "t", LEVEL: "bad" });
  const w = watch();
  await turns(w);
  t.strictSame([said.at(-1)?.state, ignored.at(-1)], ["applied", [{ name: "web", code: "app_not_allowed" }]]);
  await allow(GRANTS);
  await w.until("deploy.done", { code: "unhealthy" });
  await turns(w);
  t.strictSame(said.slice(1), [{ number: 1, state: "failed", code: "unhealthy" }]);
  t.strictSame(ignored.at(-1), []);
  await w.stop();
});

t.test("a first start that reads not all of them, and one of a stopped application, say so", async (t) => {
  for (const isStopped of [false, true]) {
    const { give, said, watch, ignored, layout, hub, target } = await emptyHost(t);
    if (isStopped) await noteStopped(layout, "web", true);
    give({ TOKEN: "t", LEVLE: "info" });
    const w = watch();
    await w.until("deploy.done", { outcome: "deployed" });
    await turns(w);
    t.strictSame(said, [{ number: 1, state: "applied", code: null }]);
    const undeclared = { name: "web.LEVLE", code: "settings_undeclared" };
    t.strictSame(ignored.at(-1), isStopped ? [{ name: "web", code: "app_stopped" }, undeclared] : [undeclared]);
    if (isStopped) {
      await noteStopped(layout, "web", false);
      target.publish("1.0.0", { settingsVersion: hub.number });
      await turns(w);
      t.strictSame(ignored.at(-1), [undeclared], "it is started again");
    }
    await w.stop();
  }
});

t.test("corrected settings let a version in that went back, though the one that runs does not read them", async (t) => {
  const { give, watch, said, target, hub, pretended } = await emptyHost(t);
  give({ TOKEN: "t" });
  const w = watch();
  await w.until("deploy.done", { outcome: "deployed" });
  pretended.faults.set("1.1.0", "it exited with 1");
  target.publish("1.1.0", { settingsVersion: hub.number });
  await w.until("deploy.done", { version: "1.1.0", outcome: "rolled_back" });
  pretended.faults.delete("1.1.0");
  give({ TOKEN: "t" }, "1.1.0");
  await turns(w);
  t.equal(w.all("deploy.done").length, 2, "the same again is no correction");
  give({ TOKEN: "t", NEW: "good" }, "1.1.0");
  await w.until("deploy.done", { version: "1.1.0", outcome: "deployed" });
  t.match(said.at(-1), { number: 3, state: "applied" });
  await w.stop();
});

t.test("a deployment that the hub has failed says nothing of them, also after a new start", async (t) => {
  const { give, said, watch, hub } = await emptyHost(t);
  hub.refusal = deploymentError("hub_unavailable", "The hub is away.");
  give({ TOKEN: "t" });
  const first = watch();
  await turns(first);
  await first.stop();
  t.strictSame(said, []);
  hub.refusal = undefined;
  hub.isAway = true;
  const second = watch();
  await second.until("deploy.done", { outcome: "deployed" });
  await second.until("settings.refused", { code: "hub_unavailable" });
  t.strictSame(said, []);
  hub.isAway = false;
  await turns(second);
  t.strictSame(said, [{ number: 1, state: "applied", code: null }]);
  await second.stop();
});

t.test("a watch that was killed before it could say so says that they have failed", async (t) => {
  const { give, said, watch, hub } = await emptyHost(t);
  hub.isAway = true;
  give({ TOKEN: "t", LEVEL: "bad" });
  const killed = watch();
  await killed.until("deploy.done", { code: "unhealthy" });
  await killed.stop();
  hub.isAway = false;
  const again = watch();
  await turns(again);
  t.equal(said.length, 1);
  t.match(said, [{ number: 1, state: "failed" }], "the version is quarantined with them");
  await again.stop();
});
