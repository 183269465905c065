// In a process of its own: it starts a hub, a host and its application.
// Only in test:all: a host hears some sixty lies, one after the other.
// Holds: what a host takes of a hub that lies (lib/agent/settings/follow.ts)
import { readFile } from "node:fs/promises";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import t, { type Test } from "tap";
import { requestAction } from "../../../lib/agent/watch/operator-requests.ts";
import { hostKeyOf } from "../../../lib/artifact/sealed/host-key.ts";
import { sealSettings } from "../../../lib/artifact/sealed/settings.ts";
import { parsePrivateKey } from "../../../lib/artifact/signatures/key-files.ts";
import { targetName } from "../../../lib/contract/target.ts";
import { readFleetSettings } from "../../../lib/releases/fleet-settings.ts";
import { type LiarFacts, OTHER_LIES, type SettingsLie } from "../../support/host/other-lies.ts";
import { layoutOf } from "../../support/host/project-root.ts";
import { SETTINGS_LIES } from "../../support/host/settings-lies.ts";
import { settingsShop } from "../../support/host/settings-shop.ts";
import { hubAt } from "../../support/hub/harness.ts";
import { changes, startLyingSettings } from "../../support/hub/lying-settings.ts";
import { until } from "../../support/until.ts";

/** Server that a hub sends hosts to. */
async function startElsewhere(t: Test) {
  const heard: IncomingHttpHeaders[] = [];
  const server = createServer((request, response) => {
    heard.push(request.headers);
    request.resume();
    response.writeHead(404, { "content-type": "application/json" }).end("{}");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.2", resolve));
  t.teardown(() => server.close());
  return { heard, url: `http://127.0.0.2:${(server.address() as AddressInfo).port}` };
}

/** A host behind a proxy that lies, with an application that runs with settings of its operator. */
async function liedTo(t: Test) {
  const shop = await settingsShop(t, { uses: 1 });
  const { world, secret } = shop;
  const wire = await startLyingSettings(t, world.hubUrl);
  const elsewhere = await startElsewhere(t);
  const host = await shop.host("pier-7", { url: wire.url, watch: ["--interval", "1s", "--timeout", "2s"] });
  await host.watch.untilEvent("target.held", { reason: "settings" });
  t.match(await shop.apply("info"), { code: 0 });
  await host.watch.untilEvent("deploy.done", { outcome: "deployed" });

  const hub = hubAt(world.hubUrl, world.admin["SEALIFT_API_KEY"]!);
  const key = hostKeyOf(Buffer.from((await readFile(join(host.folder, "host.key"), "utf8")).trim(), "hex"));
  const operatorSeed = parsePrivateKey(await readFile(world.path("operator/signer.key")), "operator");
  const layout = layoutOf(host.root);
  const target = targetName({ kind: "project", slug: world.projectId });
  const facts: LiarFacts = {
    ...{ key, operatorSeed, project: world.projectId, number: 1, elsewhere: elsewhere.url },
    ...{ first: Buffer.alloc(0), newest: Buffer.alloc(0) },
  };
  const apps = { web: { SECRET: secret, LOG_LEVEL: "info" } };
  /** Uploads the next settings, which change nothing for the application. */
  const upload = async (): Promise<void> => {
    const follows = facts.number;
    const number = ++facts.number;
    const document = { project: facts.project, to: key.fingerprint, number, made_at: new Date().toISOString(), apps };
    const { sealed } = sealSettings(document, key.x25519, operatorSeed);
    const to = key.fingerprint;
    const json = { documents: [{ host_id: "pier-7", to, number, follows, sealed: sealed.toString("base64") }] };
    const { status, body } = await hub.call("POST", `/devkeys/projects/${facts.project}/settings`, { json });
    t.equal(status, 200, JSON.stringify(body));
    facts.newest = sealed;
    if (facts.first.length === 0) facts.first = sealed;
  };
  const check = () => requestAction(layout, target, "check");
  const taken = async (): Promise<void> => {
    await check();
    await host.watch.untilEvent("settings.done", { number: facts.number, state: "applied" });
  };
  await upload();
  await taken();
  await upload();
  await taken();
  const held = async () => (await readFleetSettings(layout, target)).held;
  return { ...shop, ...{ shop, hub, wire, elsewhere, host, facts, upload, check, taken, held } };
}

t.test("a host passes by what a lying hub says, and its application goes on with what it had", async (t) => {
  const { wire, elsewhere, host, facts, upload, check, taken, held, secret, hub, world } = await liedTo(t);
  const { watch } = host;
  const [pid, file] = [await host.pid(), join(host.root, "apps/web.env")];
  const text = await readFile(file, "utf8");
  let counter = Date.now();

  const hear = async ({ name, on = "own", code, lie }: SettingsLie): Promise<void> => {
    const from = watch.said.events.length;
    const before = await held();
    const asked = wire.count(on);
    const told = lie(facts);
    // A host asks for its settings when another counter is named.
    const named = changes((body) => ({ ...body, settings_version: ++counter }));
    wire.lies = { ...(on === "own" && { latest: named }), [on]: told };
    if (on === "outcome") await upload();
    await check();
    const news = () => watch.said.events.slice(from);
    const said = () =>
      news().flatMap((one) => (["settings.refused", "check.failed"].includes(one.event) ? [String(one["code"])] : []));
    const isHeard = () => wire.count(on) > asked && (code === undefined || said().length > 0);
    // A check that began before the lie may have taken the request.
    await until(isHeard, 15_000).catch(async () => {
      await check();
      await until(isHeard);
    });
    if (on !== "outcome") t.strictSame(await held(), before, `${name}: what is held stays`);
    wire.lies = {};
    await upload();
    await taken();
    const [first, ...others] = new Set(said());
    t.strictSame(others, [], name);
    if (code === undefined) t.equal(first, undefined, `${name}: nothing is wrong with it`);
    else t.match(first, code instanceof RegExp ? code : new RegExp(`^${code}$`), name);
    t.equal(await host.pid(), pid, `${name}: the application was not restarted`);
    t.notMatch(JSON.stringify(news()), /"state":"(?:failed|not_back)"/, name);
  };
  const lies = [...SETTINGS_LIES, ...OTHER_LIES];
  t.ok(lies.length >= 50, `${lies.length} lies`);
  for (const one of lies) await hear(one);

  t.strictSame(await host.answer(), { secret, level: "info" });
  t.equal(await readFile(file, "utf8"), text);
  t.ok(elsewhere.heard.length > 0, "hosts were sent elsewhere");
  t.notMatch(JSON.stringify(elsewhere.heard), /slk_|sdc_|bearer/i, "and no key went there");
  const seed = (await readFile(join(host.folder, "host.key"), "utf8")).trim();
  for (const each of [secret, seed]) t.notMatch(watch.said.stdout + watch.said.stderr, each);
  await until(async () => {
    const { body } = await hub.call("GET", `/devkeys/projects/${world.projectId}/settings`);
    return String((body as { items: { outcome: string }[] }).items[0]!.outcome).includes(`"number":${facts.number},`);
  });
});

t.test("a flood of hints and of counters makes a host ask no more than once a second", async (t) => {
  const { wire, host, facts, held, upload, taken } = await liedTo(t);
  const before = await held();
  let counter = Date.now();
  let floods = 0;
  const hint = `event: changed\ndata: ${JSON.stringify({ targets: [`project:${facts.project}`], spread_ms: 0 })}\n\n`;
  wire.lies = {
    latest: changes((body) => ({ ...body, settings_version: ++counter })),
    hints: (response) => {
      floods++;
      response.writeHead(200, { "content-type": "text/event-stream" });
      const more = (): void => {
        while (!response.destroyed && response.write(hint.repeat(100)));
      };
      response.on("drain", more);
      more();
    },
  };
  wire.dropStreams();
  await until(() => floods > 0);
  const [began, asked] = [performance.now(), wire.count("own")];
  await until(() => performance.now() - began > 5000);
  const seconds = (performance.now() - began) / 1000;
  t.ok(wire.count("own") - asked <= 2 * seconds + 2, `${wire.count("own") - asked} in ${seconds} s`);
  t.strictSame(await held(), before);
  wire.lies = {};
  await upload();
  await taken();
  t.equal(host.watch.child.exitCode, null);
});
