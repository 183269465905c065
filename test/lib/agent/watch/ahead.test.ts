// Only in test:all: versions are fetched before a window opens.
/** The version that a window keeps back is on the host before it opens, and runs nowhere until then. */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import t, { type Test } from "tap";
import { DEPLOY_DEFAULTS } from "../../../../lib/agent/deployment/run.ts";
import { marketplaceSource } from "../../../../lib/agent/sources/marketplace.ts";
import { signatureCheck } from "../../../../lib/agent/sources/trust.ts";
import { inspectTarget } from "../../../../lib/agent/target-status.ts";
import { aheadWish } from "../../../../lib/agent/watch/ahead.ts";
import type { Latest, TargetFacts } from "../../../../lib/agent/watch/decide.ts";
import { projectPoll, type WatchTarget } from "../../../../lib/agent/watch/target.ts";
import { Watch } from "../../../../lib/agent/watch/watch.ts";
import { hasAhead, readAhead, writeAhead } from "../../../../lib/releases/ahead.ts";
import { layoutOf } from "../../../../lib/releases/layout.ts";
import { readQuarantine } from "../../../../lib/releases/quarantine.ts";
import { deltaFleet } from "../../../support/host/delta-fleet.ts";
import { GIVEN_TARGET } from "../../../support/host/given-source.ts";
import { givenTarget, watching } from "../../../support/host/watching.ts";
import { startDoor } from "../../../support/hub/door.ts";
import { startHub } from "../../../support/hub/harness.ts";
import { DEVELOPER_SECRET } from "../../../support/hub/marketplace-hub.ts";
import { fleetOf } from "../../../support/hub/project-fleet.ts";
import { publishedArchive } from "../../../support/hub/published.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

const HOUR_MS = 3_600_000;
const UNCHECKED = { update: () => {}, verify: () => {} };
const inAnHour = (): string => new Date(Date.now() + HOUR_MS).toISOString();

/** A host of a real hub, and what the hub says of the window of a rollout. */
async function closedWindow(t: Test, given: { delta?: boolean } = {}) {
  const fleet = await deltaFleet(t);
  const root = temporaryFolder(t);
  const layout = layoutOf(root);
  const target = `project-${fleet.project.id}` as const;
  let latest: Latest = { version: "1.0.0", identity: null, yanked: [] };
  let revision = 0;
  const watched: WatchTarget = {
    ...{ name: "demo", intervalMs: 20, hub: fleet.hubUrl, fetchAhead: true },
    poll: (etag) =>
      Promise.resolve(etag === `${revision}` ? { changed: false } : { changed: true, latest, etag: `${revision}` }),
    source: (version) => fleet.sourceOf(version, given),
    options: {
      ...DEPLOY_DEFAULTS,
      projectRoot: root,
      hostId: "host",
      supervisor: { name: "none" },
      durability: "none",
    },
  };
  return {
    ...{ fleet, root, layout, target, watched },
    sealed: join(layout.ahead(target), "sealed"),
    /** The hub's answer from now on: the version to run, and the one that waits for the window. */
    say: (version: string, next: string | null = null) => {
      latest = { version, identity: null, yanked: [], next, nextAt: next && inAnHour() };
      revision++;
    },
    runs: (version: string): boolean =>
      existsSync(join(root, "plugins/demo", `only-${version}.txt`)) &&
      readFileSync(join(root, "plugins/demo/noise.bin")).subarray(-version.length).toString() === version,
  };
}

for (const delta of [false, true]) {
  t.test(`what was fetched ahead ${delta ? "as a delta " : ""}is switched to without its bytes`, async (t) => {
    const h = await closedWindow(t, { delta });
    await h.fleet.publish("1.0.0");
    const first = watching(t, [h.watched]);
    await first.until("deploy.done", { outcome: "deployed" });
    await h.fleet.publish("2.0.0");
    h.say("1.0.0", "2.0.0");
    const { bytes } = await first.until("ahead.fetched", { version: "2.0.0" });
    t.ok(delta ? bytes < 100_000 : bytes > 100_000, `${bytes}`);
    await first.until("check.scheduled");
    await first.until("check.scheduled");
    t.equal(first.all("ahead.fetched").length, 1, "and not again at each check");
    t.ok(h.runs("1.0.0"), "nothing is switched before the window opens");
    t.match((await inspectTarget(h.layout, h.target)).ahead, { version: "2.0.0", bytes, notBefore: /^\d{4}-/ });
    await first.stop();
    t.match(await readAhead(h.layout, h.target), { version: "2.0.0" }, "the end of a watch leaves it");

    const second = watching(t, [h.watched]);
    await second.until("check.scheduled");
    h.say("2.0.0");
    await second.until("deploy.done", { outcome: "deployed", version: "2.0.0" });
    t.match(second.all("ahead.used"), [{ version: "2.0.0", bytes }]);
    t.match(second.all("fetch.done"), [{ bytes: 0 }]);
    t.equal(second.all("authorize.ok").length, 1, "the key comes at the switch");
    t.same(first.all("authorize.ok").length, 1, "and did not before");
    t.same(second.all("ahead.fetched"), [], "another watch did it");
    t.ok(h.runs("2.0.0"));
    await second.until("ahead.dropped", { version: "2.0.0", reason: "deployed" });
    t.notOk(await hasAhead(h.layout, h.target));
  });
}

t.test("another version, a halt and a withdrawn wish drop what was fetched ahead", async (t) => {
  const h = await closedWindow(t);
  for (const version of ["1.0.0", "2.0.0", "2.1.0"]) await h.fleet.publish(version);
  const w = watching(t, [h.watched]);
  await w.until("deploy.done");
  h.say("1.0.0", "2.0.0");
  await w.until("ahead.fetched", { version: "2.0.0" });
  h.say("1.0.0", "2.1.0");
  await w.until("ahead.dropped", { version: "2.0.0", reason: "superseded" });
  await w.until("ahead.fetched", { version: "2.1.0" });
  t.match(await readAhead(h.layout, h.target), { version: "2.1.0" });
  h.say("1.0.0");
  await w.until("ahead.dropped", { version: "2.1.0", reason: "superseded" });
  t.notOk(await hasAhead(h.layout, h.target));
  h.say("1.0.0", "2.1.0");
  await w.until("ahead.fetched");
  await w.watch.replace([{ ...h.watched, fetchAhead: false }]);
  await w.until("ahead.dropped", { version: "2.1.0", reason: "superseded" });
  await w.until("check.scheduled");
  t.notOk(await hasAhead(h.layout, h.target));
  t.ok(h.runs("1.0.0"));
});

t.test("a key that was revoked meanwhile opens nothing that was fetched ahead", async (t) => {
  const h = await closedWindow(t, { delta: false });
  await h.fleet.publish("1.0.0");
  const w = watching(t, [h.watched]);
  await w.until("deploy.done");
  await h.fleet.publish("2.0.0");
  h.say("1.0.0", "2.0.0");
  await w.until("ahead.fetched");
  t.equal((await h.fleet.hub.call("DELETE", `/devkeys/api-keys/${h.fleet.project.keyId}`)).status, 204);
  h.say("2.0.0");
  const { code } = await w.until("deploy.done", { outcome: "failed" });
  t.match(code, /unauthorized|key|revoked|auth/);
  t.ok(h.runs("1.0.0"));
  t.same(await readQuarantine(h.layout, h.target), []);
  t.match(await readAhead(h.layout, h.target), { version: "2.0.0" }, "it is still sealed");
});

const harm: Record<string, (sealed: string) => void> = {
  "has one other bit": (sealed) => {
    const bytes = readFileSync(sealed);
    bytes[bytes.length >> 1]! ^= 1;
    writeFileSync(sealed, bytes);
  },
  "lost its end": (sealed) => truncateSync(sealed, 1000),
  "is gone": (sealed) => rmSync(sealed),
  "is a link to a device without an end": (sealed) => {
    rmSync(sealed);
    symlinkSync("/dev/zero", sealed);
  },
  "is a pipe that nobody writes": (sealed) => {
    rmSync(sealed);
    execFileSync("mkfifo", [sealed]);
  },
};
t.test("bytes that were changed after they were fetched ahead come from the hub again", async (t) => {
  for (const delta of [false, true]) {
    const h = await closedWindow(t, { delta });
    await h.fleet.publish("1.0.0");
    const w = watching(t, [h.watched]);
    await w.until("deploy.done");
    // A delta falls back as any bad one does.
    const harms = Object.entries(harm).slice(0, delta ? 1 : undefined);
    for (const [index, [what, spoil]] of harms.entries()) {
      const [before, version] = [`1.${index}.0`, `1.${index + 1}.0`];
      await h.fleet.publish(version);
      h.say(before, version);
      await w.until("ahead.fetched", { version });
      spoil(h.sealed);
      h.say(version);
      await w.until("deploy.done", { outcome: "deployed", version });
      t.ok(h.runs(version), what);
      const told = delta ? w.all("delta.failed") : w.all("ahead.unusable");
      t.equal(told.length, index + 1, `${what}: ${JSON.stringify(told)}`);
      await w.until("check.scheduled");
      t.notOk(await hasAhead(h.layout, h.target));
    }
    t.same(await readQuarantine(h.layout, h.target), [], "the version has not failed");
    await w.stop();
  }
});

t.test("bytes of another signer are not kept, and are not asked for at each check", async (t) => {
  const root = temporaryFolder(t);
  const layout = layoutOf(root);
  let asked = 0;
  const target = givenTarget(root, {
    given: () => ({
      fetchAhead: ({ layout, target, signal }) => {
        asked++;
        const signed = { version: "2.0.0", signature: Buffer.alloc(64).toString("base64"), size: 4 };
        const check = signatureCheck(signed.version, signed.signature, new Uint8Array(32));
        const body = (async function* () {
          yield await Promise.resolve(Buffer.from("evil"));
        })();
        return writeAhead(layout, target, { ...signed, check, body }, signal);
      },
    }),
  });
  target.publish("1.0.0", { next: "2.0.0", nextAt: inAnHour() });
  const w = watching(t, [{ ...target, fetchAhead: true }]);
  await w.until("ahead.failed", { version: "2.0.0", code: "signature_invalid" });
  for (let checks = 0; checks < 3; checks++) await w.until("check.scheduled");
  t.equal(asked, 1);
  t.notOk(await hasAhead(layout, GIVEN_TARGET));
  t.same(w.all("check.failed"), [], "the target itself is well");
  target.publish("2.0.0");
  await w.until("deploy.done", { outcome: "deployed", version: "2.0.0" });
});

t.test("a disk without room for a version and its tree is left alone", async (t) => {
  const layout = layoutOf(temporaryFolder(t));
  mkdirSync(layout.sealift, { recursive: true });
  const body = (async function* (): AsyncGenerator<Buffer> {
    yield await Promise.reject(new Error("nothing is asked for"));
  })();
  const sealed = { version: "2.0.0", signature: "", check: UNCHECKED, body };
  const writing = writeAhead(layout, GIVEN_TARGET, { ...sealed, size: 2 ** 52 }, new AbortController().signal);
  await t.rejects(writing, { code: "disk_full" });
  t.notOk(await hasAhead(layout, GIVEN_TARGET));
});

/** A plugin of a real hub, and what the hub says of the window of a rollout. */
async function pluginInWindow(t: Test) {
  const hub = await startHub(t, { rateLimits: false });
  const folder = temporaryFolder(t);
  const plugin = await publishedArchive(hub, "plugin", "tides", folder);
  const root = temporaryFolder(t);
  const issued = await hub.call("POST", "/devkeys/api-keys", { json: { name: "host", scopes: ["deploy", "report"] } });
  const { key, id: keyId } = issued.body as { key: string; id: string };
  let latest: Latest = { version: "1.0.0", identity: null, yanked: [] };
  let revision = 0;
  const door = await startDoor(t);
  door.hub = hub.url;
  const watched: WatchTarget = {
    ...{ name: "tides", intervalMs: 20, hub: hub.url, fetchAhead: true },
    poll: (etag) =>
      Promise.resolve(etag === `${revision}` ? { changed: false } : { changed: true, latest, etag: `${revision}` }),
    source: (version) =>
      marketplaceSource({
        ...{ hubUrl: door.url, apiKey: key, timeoutMs: 10_000, kind: "plugin", slug: "tides", version },
        ...{ signingSecret: DEVELOPER_SECRET, installPlan: join(folder, "tides.yaml"), symlinks: "refuse" },
      }),
    options: {
      ...DEPLOY_DEFAULTS,
      projectRoot: root,
      hostId: "host",
      supervisor: { name: "none" },
      durability: "none",
    },
  };
  return {
    ...{ hub, plugin, keyId, watched, layout: layoutOf(root), target: "plugin-tides" as const },
    say: (version: string, next: string | null = null) => {
      latest = { version, identity: null, yanked: [], next, nextAt: next && inAnHour() };
      revision++;
    },
    /** Counts whole archives that have travelled. */
    travels: (): number =>
      door.passages.filter(({ path, headers }) => path.includes("/install") && headers.range === undefined).length,
    running: (): string => readFileSync(join(root, "plugins/tides/version"), "utf8"),
  };
}

t.test("a plugin's archive waits for the window, too, and the hub is asked again whether this key may", async (t) => {
  const h = await pluginInWindow(t);
  await h.plugin.publish("1.0.0");
  const w = watching(t, [h.watched]);
  await w.until("deploy.done", { outcome: "deployed" });
  await h.plugin.publish("1.1.0");
  h.say("1.0.0", "1.1.0");
  await w.until("ahead.fetched", { version: "1.1.0" });
  t.equal(h.running(), "1.0.0");
  h.say("1.1.0");
  await w.until("deploy.done", { outcome: "deployed", version: "1.1.0" });
  t.match(w.all("ahead.used"), [{ version: "1.1.0" }]);
  t.equal(h.travels(), 2, "its bytes travelled once");
  t.equal(h.running(), "1.1.0");
  await w.until("ahead.dropped", { version: "1.1.0", reason: "deployed" });

  await h.plugin.publish("1.2.0");
  h.say("1.1.0", "1.2.0");
  await w.until("ahead.fetched", { version: "1.2.0" });
  const sealed = join(h.layout.ahead(h.target), "sealed");
  writeFileSync(sealed, readFileSync(sealed).fill(7, 100, 110));
  h.say("1.2.0");
  await w.until("deploy.done", { outcome: "deployed", version: "1.2.0" });
  t.match(w.all("ahead.unusable"), [{ version: "1.2.0", code: "signature_invalid" }]);
  t.same(await readQuarantine(h.layout, h.target), [], "the version has not failed");

  await h.plugin.publish("1.3.0");
  h.say("1.2.0", "1.3.0");
  await w.until("ahead.fetched", { version: "1.3.0" });
  t.equal((await h.hub.call("DELETE", `/devkeys/api-keys/${h.keyId}`)).status, 204);
  h.say("1.3.0");
  await w.until("deploy.done", { outcome: "failed" });
  t.equal(h.running(), "1.2.0", "a key that was revoked meanwhile installs nothing");
});

t.test("an archive of another developer is not kept", async (t) => {
  const h = await pluginInWindow(t);
  await h.plugin.publish("1.0.0");
  const w = watching(t, [h.watched]);
  await w.until("deploy.done", { outcome: "deployed" });
  await h.plugin.publish("1.1.0", {}, true);
  h.say("1.0.0", "1.1.0");
  await w.until("ahead.failed", { version: "1.1.0", code: "signature_invalid" });
  t.notOk(await hasAhead(h.layout, h.target));
});

/** A target whose version never comes whole. */
function endless(root: string) {
  const begun = Promise.withResolvers<void>();
  const target = givenTarget(root, {
    given: () => ({
      fetchAhead: ({ layout, target, signal }) => {
        const body = (async function* () {
          yield Buffer.alloc(1000);
          begun.resolve();
          await new Promise((_resolve, reject) => {
            signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
          });
        })();
        const sealed = { version: "2.0.0", signature: "", check: UNCHECKED, size: undefined, body };
        return writeAhead(layout, target, sealed, signal);
      },
    }),
  });
  target.publish("1.0.0", { next: "2.0.0", nextAt: inAnHour() });
  return { target: { ...target, fetchAhead: true }, begun: begun.promise };
}

t.test("the end of a watch, and a window that opens, end a fetch, and nothing of it stays", async (t) => {
  const root = temporaryFolder(t);
  const layout = layoutOf(root);
  const first = endless(root);
  const w = watching(t, [first.target]);
  await first.begun;
  t.ok(await hasAhead(layout, GIVEN_TARGET));
  await w.stop();
  t.notOk(await hasAhead(layout, GIVEN_TARGET));

  const second = endless(root);
  const again = watching(t, [second.target]);
  await second.begun;
  second.target.publish("2.0.0");
  await again.until("deploy.done", { outcome: "deployed", version: "2.0.0" });
  t.notOk(await hasAhead(layout, GIVEN_TARGET));
  t.same(again.all("ahead.failed"), []);

  const single = endless(temporaryFolder(t));
  const stopping = new AbortController();
  const ended = new Watch([single.target], () => {}).once(stopping.signal);
  await single.begun;
  stopping.abort();
  t.match(await ended, [{ outcome: "deployed", version: "1.0.0" }], "--once waits for it no longer than it may");
});

t.test("what a killed watch has begun is not a version, and goes", async (t) => {
  const root = temporaryFolder(t);
  const layout = layoutOf(root);
  mkdirSync(layout.sealift, { recursive: true });
  const program = fileURLToPath(new URL("../../../support/programs/ahead-and-die.ts", import.meta.url));
  const child = spawn(process.execPath, [program, root, GIVEN_TARGET], { stdio: "inherit" });
  t.same(await once(child, "exit"), [null, "SIGKILL"]);
  t.same(readdirSync(layout.ahead(GIVEN_TARGET)), ["sealed"]);
  t.equal(await readAhead(layout, GIVEN_TARGET), undefined);
  const target = givenTarget(root);
  target.publish("1.0.0");
  const w = watching(t, [target]);
  await w.until("check.scheduled");
  t.notOk(await hasAhead(layout, GIVEN_TARGET), "also by a watch that fetches nothing ahead");
  t.same(w.all("ahead.dropped"), []);
});

t.test("a hub tells a host of a rollout which version it waits for", async (t) => {
  const { fleet, watched, root } = await closedWindow(t);
  await fleet.publish("1.0.0");
  const day = new Date(Date.now() + 3 * 24 * HOUR_MS).toLocaleDateString("en", { weekday: "short", timeZone: "UTC" });
  const window = `${day} 10:00-11:00 UTC`;
  const rollouts = `/devkeys/projects/${fleet.project.id}/rollouts`;
  const known = await fleetOf(fleet.hub, fleet.project);
  await known.report("host", "1.0.0", { labels: { env: "canary" } });
  const started = await fleet.hub.call("POST", rollouts, {
    key: fleet.project.key,
    json: { version: "2.0.0", waves: ["env=canary", "100%"], window },
  });
  t.equal(started.status, 201, JSON.stringify(started.body));
  const host = { hostId: "host", labels: { env: "canary" } };
  const poll = projectPoll(fleet.project.id, { ...fleet.connection, ...host });
  const answer = async () => await poll(undefined, new AbortController().signal);
  t.match(await answer(), { latest: { version: "1.0.0", next: null } }, "nothing is published yet");
  await fleet.publish("2.0.0");
  t.match(await answer(), { latest: { version: "1.0.0", next: "2.0.0" } });
  const w = watching(t, [{ ...watched, poll, intervalMs: 200 }]);
  await w.until("ahead.fetched", { version: "2.0.0" });
  t.ok(existsSync(join(root, "plugins/demo/only-1.0.0.txt")));
});

t.test("only a version that could be deployed may be there before", (t) => {
  const facts = (given: Partial<TargetFacts> = {}, next: string | null = "2.0.0"): TargetFacts => ({
    running: "1.0.0",
    latest: { version: "1.0.0", identity: null, yanked: [], next },
    quarantine: [],
    paused: false,
    damaged: false,
    allowDowngrade: false,
    ran: new Set(["1.0.0"]),
    ...given,
  });
  const failed = { version: "2.0.0", identity: null, code: "unhealthy", reason: "x", at: "x" } as never;
  const asks = { reason: "rights", version: "2.0.0", identity: null, message: "", rights: ["network: a"] } as const;
  const opened: Latest = { version: "2.0.0", identity: null, yanked: [] };
  const cases: [string, TargetFacts, string | null, boolean][] = [
    ["a window keeps it back", facts(), "2.0.0", true],
    ["nothing runs yet", facts({ running: null }), "2.0.0", true],
    ["the running release is damaged", facts({ damaged: true }), "2.0.0", true],
    ["it is paused", facts({ paused: true }), "2.0.0", false],
    ["its rights wait for consent", facts({ holds: [asks] }), "2.0.0", false],
    ["a person keeps another version", facts({ pin: "1.0.0" }), null, false],
    ["it failed before", facts({ quarantine: [failed] }), null, false],
    ["somebody retries what failed now", facts({ quarantine: [failed], asked: "retry" }), null, false],
    ["it is lower than what runs", facts({ running: "3.0.0" }), null, false],
    ["no window is ahead", facts({}, null), null, false],
    ["the window is open", facts({ latest: opened }), "2.0.0", false],
    ["it runs", facts({ latest: opened, running: "2.0.0" }), null, false],
  ];
  for (const [what, given, version, fetch] of cases) t.match(aheadWish(given, true), { version, fetch }, what);
  t.match(aheadWish(facts(), false), { version: null, fetch: false }, "nobody wants it");
  t.end();
});
