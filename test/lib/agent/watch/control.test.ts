import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import type { WatchAction } from "../../../../lib/agent/watch/events.ts";
import { requestAction } from "../../../../lib/agent/watch/operator-requests.ts";
import { WatchMemory } from "../../../../lib/agent/watch/state.ts";
import { layoutOf } from "../../../../lib/releases/layout.ts";
import { KEYS } from "../../../../lib/tui/navigation.ts";
import { gate } from "../../../support/host/gate.ts";
import { GIVEN_TARGET } from "../../../support/host/given-source.ts";
import { givenTarget, watching } from "../../../support/host/watching.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";
import { until } from "../../../support/until.ts";

/** Long enough that only somebody who asks makes a check happen. */
const NEVER_MS = 3_600_000;

const running = (root: string): Promise<string> => readFile(join(root, "plugins/a/version"), "utf8");

for (const way of ["at run time", "with a request in the project root"] as const) {
  t.test(`a target is paused, resumed, checked and deployed anew ${way}`, async (t) => {
    const root = temporaryFolder(t);
    const target = givenTarget(root, { intervalMs: NEVER_MS });
    target.publish("1.0.0");
    const w = watching(t, [target]);
    const ask = async (action: WatchAction): Promise<void> => {
      if (way === "at run time") t.equal(await w.watch.act(target.name, action), true);
      else await requestAction(layoutOf(root), GIVEN_TARGET, action);
      await w.until("action.asked", { action });
    };
    /** A request ends the wait for the next check, whatever it asks for. */
    const settled = async (): Promise<void> => {
      if (way !== "at run time") await w.until("check.scheduled");
    };
    await w.until("deploy.done", { version: "1.0.0" });
    await w.until("check.scheduled");

    await ask("pause");
    await w.until("target.paused");
    await settled();
    target.publish("1.1.0");
    await ask("check");
    await w.until("check.done", { latest_version: "1.1.0", running_version: "1.0.0" });
    await w.until("target.held", { reason: "paused", version: "1.1.0" });
    await ask("pause");
    await settled();
    await ask("resume");
    await w.until("target.resumed");
    await w.until("deploy.done", { version: "1.1.0", outcome: "deployed" });
    t.equal(w.all("target.paused").length, 1, "a pause of what is paused is not news");

    await ask("redeploy");
    await w.until("deploy.done", { version: "1.1.0", outcome: "deployed", previous_version: "1.1.0" });
    await w.until("check.scheduled");
    await ask("retry");
    await w.until("check.scheduled");
    t.equal(w.all("deploy.done").length, 3, "what runs needs no other try");
    t.equal(await running(root), "1.1.0");
  });
}

t.test("a retry fetches a version again, though its release is kept: the help says so", async (t) => {
  const root = temporaryFolder(t);
  const target = givenTarget(root, { intervalMs: NEVER_MS });
  const w = watching(t, [target]);
  for (const version of ["1.0.0", "1.1.0"]) {
    target.publish(version);
    await w.watch.act(target.name, "check");
    await w.until("deploy.done", { version, outcome: "deployed" });
    await w.until("check.scheduled");
  }
  const kept = await readdir(layoutOf(root).releases(GIVEN_TARGET));
  w.watch.goBack(target.name);
  await w.until("deploy.done", { version: "1.0.0", previous_version: "1.1.0" });
  t.strictSame((await readdir(layoutOf(root).releases(GIVEN_TARGET))).toSorted(), kept.toSorted(), "nothing is new");
  await w.watch.act(target.name, "retry");
  await w.until("deploy.done", { version: "1.1.0", previous_version: "1.0.0", outcome: "deployed" });
  const added = (await readdir(layoutOf(root).releases(GIVEN_TARGET))).filter((name) => !kept.includes(name));
  t.equal(added.length, 1, "its bytes came anew");
  t.match(KEYS.find(({ keys }) => keys === "t")?.does, /fetched anew/);
});

t.test("nobody can ask for a target that is not watched", async (t) => {
  const w = watching(t, [givenTarget(temporaryFolder(t))]);
  t.equal(await w.watch.act("plugin:nobody", "pause"), false);
});

t.test("what is asked while a deployment runs, or while the hub is away, is done as soon as it can be", async (t) => {
  const door = gate();
  const target = givenTarget(temporaryFolder(t), {
    intervalMs: 50,
    given: (version) => ({ resolve: async () => (await door.pass(), { version, identity: version }) }),
  });
  target.publish("1.0.0");
  const w = watching(t, [target]);
  await door.reached;
  target.failing.push(new Error("away"), new Error("still away"));
  await w.watch.act(target.name, "redeploy");
  door.open();
  await w.until("deploy.done", { previous_version: null });
  await w.until("check.failed", { failures: 2 });
  await w.until("deploy.done", { previous_version: "1.0.0", outcome: "deployed" });
  for (let checks = 0; checks < 2; checks++) await w.until("check.scheduled");
  t.equal(w.all("deploy.done").length, 2, "and only once");
});

t.test("a pause that comes while a deployment waits for its turn holds it", async (t) => {
  const root = temporaryFolder(t);
  const door = gate();
  const other = givenTarget(root, {
    slug: "prj_0000000001",
    plugin: "b",
    given: (version) => ({ resolve: async () => (await door.pass(), { version, identity: version }) }),
  });
  const target = givenTarget(root);
  other.publish("1.0.0");
  const w = watching(t, [other]);
  await door.reached;
  target.publish("1.0.0");
  await w.watch.replace([other, target]);
  await w.until("deploy.queued", { target: target.name });
  await w.watch.act(target.name, "pause");
  door.open();
  await w.until("target.held", { target: target.name, reason: "paused" });
  t.same(
    w.all("deploy.started").map(({ target: name }) => name),
    [other.name],
  );
});

t.test("what is paused stays so over a restart, and the hub is asked only for what has changed since", async (t) => {
  const root = temporaryFolder(t);
  const target = givenTarget(root);
  target.publish("1.0.0");
  const before = watching(t, [target]);
  await before.until("deploy.done");
  await before.watch.act(target.name, "pause");
  await before.stop();
  t.equal(target.polls[0]!.etag, undefined);

  const polls = target.polls.length;
  const after = watching(t, [target]);
  t.match(await after.until("watch.started"), {
    targets: [{ paused: true, running_version: "1.0.0", latest_version: "1.0.0" }],
  });
  t.match(await after.until("check.done"), { changed: false, latest_version: "1.0.0" });
  t.type(target.polls[polls]!.etag, "string", "the first poll names what was seen last");
  target.publish("1.1.0");
  await after.until("target.held", { reason: "paused", version: "1.1.0" });
  await after.stop();

  await requestAction(layoutOf(root), GIVEN_TARGET, "resume");
  const resumed = watching(t, [target]);
  await resumed.until("deploy.done", { version: "1.1.0" });
});

t.test("what cannot be remembered is a warning, not the end", async (t) => {
  const root = temporaryFolder(t);
  const target = givenTarget(root, { intervalMs: NEVER_MS });
  const w = watching(t, [target]);
  // A check's last write, the target's state, follows the event; the folder cannot be removed while it is under way.
  const remembered = () => new WatchMemory({ layout: layoutOf(root) }, GIVEN_TARGET).read();
  await until(async () => (await remembered()).state !== undefined);
  await rm(join(root, ".sealift/state"), { recursive: true });
  await writeFile(join(root, ".sealift/state"), "");
  t.equal(await w.watch.act(target.name, "pause"), true);
  await w.until("watch.warning");
  await rm(join(root, ".sealift/state"));
  await w.watch.act(target.name, "check");
  await w.until("check.done");
});

t.test("a person goes back to the release before, and the watch leaves the other one alone", async (t) => {
  const root = temporaryFolder(t);
  const target = givenTarget(root, { intervalMs: NEVER_MS });
  target.publish("1.0.0");
  const w = watching(t, [target]);
  await w.until("deploy.done", { version: "1.0.0" });
  await w.until("check.scheduled");
  target.publish("1.1.0");
  await w.watch.act(target.name, "check");
  await w.until("deploy.done", { version: "1.1.0" });
  await w.until("check.scheduled");
  t.equal(w.watch.goBack("plugin:nope"), false);
  t.equal(w.watch.goBack(target.name), true);
  await w.until("deploy.done", { version: "1.0.0", previous_version: "1.1.0", outcome: "deployed", code: null });
  t.equal(await running(root), "1.0.0");
  await w.until("target.held", { version: "1.1.0", reason: "quarantined" });
  w.watch.goBack(target.name);
  await w.until("deploy.done", { outcome: "failed", code: "no_release" });
});
