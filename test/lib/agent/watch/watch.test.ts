import { access, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import t from "tap";
import { systemdSupervisor } from "../../../../lib/agent/supervisors/systemd.ts";
import { Watch } from "../../../../lib/agent/watch/watch.ts";
import { artifactError } from "../../../../lib/contract/errors.ts";
import { readJournal } from "../../../../lib/releases/journal.ts";
import { layoutOf } from "../../../../lib/releases/layout.ts";
import { readQuarantine } from "../../../../lib/releases/quarantine.ts";
import { listReleases } from "../../../../lib/releases/release.ts";
import { type Gate, gate } from "../../../support/host/gate.ts";
import { type Given, GIVEN_TARGET, INSTALL } from "../../../support/host/given-source.ts";
import { type GivenOptions, givenTarget, watching } from "../../../support/host/watching.ts";
import { recordingProgram } from "../../../support/programs/recording-program.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

const running = (root: string, plugin = "a"): Promise<string> =>
  readFile(join(root, "plugins", plugin, "version"), "utf8");

/** A target of its own plugin. */
const numbered = (root: string, number: number, options: GivenOptions = {}) =>
  givenTarget(root, { slug: `prj_000000000${number}`, plugin: `p${number}`, ...options });

/** A source that waits before it has fetched anything. */
const waiting = (door: Gate): Given => ({
  resolve: async () => {
    await door.pass();
    return { version: "1.0.0", identity: "one" };
  },
});

t.test("targets of one root take turns, those of different roots overlap, two at the most", async (t) => {
  const root = temporaryFolder(t);
  const active = new Map<string, number>();
  const most = new Map<string, number>();
  const counted =
    (place: string) =>
    (version: string): Given => ({
      resolve: async () => {
        for (const name of [place, "all"]) {
          active.set(name, (active.get(name) ?? 0) + 1);
          most.set(name, Math.max(most.get(name) ?? 0, active.get(name)!));
        }
        await sleep(10);
        for (const name of [place, "all"]) active.set(name, active.get(name)! - 1);
        return { version, identity: version };
      },
    });
  const shared = [1, 2, 3, 4].map((number) => numbered(root, number, { given: counted("shared") }));
  const others = [5, 6].map((number) => numbered(temporaryFolder(t), number, { given: counted(`own ${number}`) }));
  const targets = [...shared, ...others];
  const w = watching(t, targets);
  for (const version of ["1.0.0", "1.1.0", "1.2.0"]) {
    for (const target of targets) target.publish(version);
    for (const target of targets) await untilDeployed(w, target.name, version);
  }
  t.same(Object.fromEntries(most), { shared: 1, "own 5": 1, "own 6": 1, all: 2 });
  t.equal(w.all("lock.waiting").length, 0, "before its turn none has begun");
  for (const number of [1, 2, 3, 4]) t.equal(await running(root, `p${number}`), "1.2.0");
});

async function untilDeployed(w: ReturnType<typeof watching>, target: string, version: string): Promise<void> {
  const done = (): boolean =>
    w.all("deploy.done").some((event) => event.target === target && event.version === version && event.code === null);
  while (!done()) await w.until("deploy.done");
}

t.test("one target whose hub is away, or whose root cannot be read, disturbs no other", async (t) => {
  const folder = temporaryFolder(t);
  await writeFile(join(folder, "file"), "");
  const away = numbered(temporaryFolder(t), 1);
  away.failing.push(...Array.from({ length: 50 }, () => artifactError("timed_out", "silence")));
  const unreadable = numbered(join(folder, "unreadable"), 2);
  await mkdir(join(folder, "unreadable/.sealift/state"), { recursive: true });
  await mkdir(join(folder, `unreadable/.sealift/state/watch-project-${unreadable.slug}.json`));
  const well = numbered(temporaryFolder(t), 3);
  well.publish("1.0.0");
  const w = watching(t, [away, unreadable, well]);
  t.match(await w.until("watch.started"), { targets: [{}, { running_version: null, paused: false }, {}] });
  await w.until("deploy.done", { target: well.name, outcome: "deployed" });
  await w.until("check.failed", { target: unreadable.name });
  await w.until("check.failed", { target: away.name });
});

t.test("--once is one turn of each target, with how it ended", async (t) => {
  const targets = [1, 2, 3].map((number) => numbered(temporaryFolder(t), number));
  const [due, current, away] = targets as [(typeof targets)[0], (typeof targets)[0], (typeof targets)[0]];
  due.publish("1.0.0");
  away.failing.push(artifactError("connection_failed", "gone"));
  const watch = new Watch(targets, () => {});
  t.match(await watch.once(new AbortController().signal), [
    { target: due.name, outcome: "deployed", version: "1.0.0", exitCode: 0 },
    { target: current.name, outcome: "unpublished", version: null, exitCode: 0 },
    { target: away.name, outcome: "failed", exitCode: 75, error: { code: "connection_failed" } },
  ]);
  t.match(await new Watch([due], () => {}).once(new AbortController().signal), [{ outcome: "current", exitCode: 0 }]);
  const said: string[] = [];
  const interrupted = new Watch([due], ({ event }) => said.push(event));
  t.match(await interrupted.once(AbortSignal.abort()), [{ outcome: "failed", exitCode: 130 }]);
  t.same(said, ["watch.started", "check.started"], "an interruption is not a failure of the hub");
});

t.test("an interruption while bytes arrive, or after the switch, leaves the old release, whole", async (t) => {
  const systemd = { name: "systemd" as const, make: () => systemdSupervisor({ scope: "system", staysUpMs: 100 }) };
  const steps = `${INSTALL}
  - {id: up, action: restart, plugin: a}
  - {id: ok, action: healthcheck, plugin: a, retries: 20}`;
  const state = join(temporaryFolder(t), "state");
  await writeFile(state, "active");
  await recordingProgram(
    t,
    "systemctl",
    `case "$*" in *show*) echo LoadState=loaded; echo ActiveState=$(cat ${state}); echo NRestarts=0;; esac`,
  );
  const silent: Given = {
    fetch: async ({ signal }) => Promise.reject(await sleep(60_000, new Error("it was left alone"), { signal })),
  };
  for (const [when, given] of [
    ["resolve.ok", silent],
    ["switch.done", {}],
  ] as const) {
    const root = temporaryFolder(t);
    const layout = layoutOf(root);
    const target = givenTarget(root, {
      steps,
      given: (version) => (version === "2.0.0" ? given : {}),
      deploy: { supervisor: systemd },
    });
    target.publish("1.0.0");
    await writeFile(state, "active");
    const w = watching(t, [target]);
    await w.until("deploy.done", { outcome: "deployed" });
    await writeFile(state, "activating");
    target.publish("2.0.0");
    await w.until("resolve.ok");
    if (when !== "resolve.ok") await w.until(when);
    await w.stop();
    t.equal(await running(root), "1.0.0", when);
    t.match(w.all("deploy.done").at(-1), { outcome: "failed", code: "interrupted" });
    t.equal(w.all("check.failed").length, 0, "it is not a failure of the hub");
    t.equal(await readJournal(layout), undefined);
    t.equal((await listReleases(layout, GIVEN_TARGET)).length, 1);
    t.same(await readQuarantine(layout, GIVEN_TARGET), [], "and says nothing about the version");
  }
});

t.test("while it watches, targets come and go", async (t) => {
  const [first, second] = [numbered(temporaryFolder(t), 1), numbered(temporaryFolder(t), 2)];
  for (const target of [first, second]) target.publish("1.0.0");
  const w = watching(t, [first]);
  await w.until("deploy.done", { target: first.name });
  await w.watch.replace([second]);
  t.match(await w.until("watch.started"), { targets: [{ target: second.name, running_version: null }] });
  await w.until("deploy.done", { target: second.name });
  const polls = first.polls.length;
  for (let checks = 0; checks < 3; checks++) await w.until("check.done", { target: second.name });
  t.equal(first.polls.length, polls, "a dropped one is not asked for any more");
  t.equal(await w.watch.act(first.name, "check"), false);
  await w.watch.replace([first, second]);
  t.match(await w.until("check.done", { target: first.name }), { running_version: "1.0.0" });
});

t.test("a new definition of a target that fails is tried at once", async (t) => {
  const root = temporaryFolder(t);
  const target = givenTarget(root, { intervalMs: 60_000 });
  target.publish("1.0.0");
  target.failing.push(new Error("the key was mistyped"));
  const w = watching(t, [target]);
  await w.until("check.scheduled", { failures: 1 });
  await w.watch.replace([target]);
  await w.until("deploy.done", { outcome: "deployed" });
  t.equal(await running(root), "1.0.0");
});

t.test("a dropped target finishes the deployment that it is in, and the end waits for it", async (t) => {
  const root = temporaryFolder(t);
  const door = gate();
  const target = givenTarget(root, { given: () => waiting(door) });
  target.publish("1.0.0");
  const w = watching(t, [target]);
  await door.reached;
  await w.watch.replace([]);
  door.open();
  await w.until("deploy.done", { outcome: "deployed" });
  t.equal(await running(root), "1.0.0");

  const late = gate();
  const again = givenTarget(temporaryFolder(t), { given: () => waiting(late) });
  again.publish("1.0.0");
  await w.watch.replace([again]);
  await late.reached;
  await w.watch.replace([]);
  const ended = w.stop().then(() => w.all("deploy.done").length);
  late.open();
  t.equal(await ended, 2, "it has ended when the watch has");
});

t.test("a dropped target begins no deployment that it was still waiting for", async (t) => {
  const root = temporaryFolder(t);
  const door = gate();
  const [busy, queued, last] = [
    numbered(root, 1, { given: () => waiting(door) }),
    numbered(root, 2),
    numbered(root, 3),
  ];
  for (const target of [busy, queued, last]) target.publish("1.0.0");
  const w = watching(t, [busy]);
  await door.reached;
  // Its journal is not there yet: neighbours get as far as the queue.
  await w.watch.replace([busy, queued]);
  await w.until("deploy.queued", { target: queued.name });
  await w.watch.replace([busy, last]);
  await w.until("deploy.queued", { target: last.name });
  door.open();
  await w.until("deploy.done", { target: last.name });
  t.same(
    w.all("deploy.done").map(({ target }) => target),
    [busy.name, last.name],
  );
  await t.rejects(access(join(root, "plugins/p2")));
});

t.test("a target that stays takes its new definition, one that moved is deployed to its new root", async (t) => {
  const [root, other] = [temporaryFolder(t), temporaryFolder(t)];
  const before = givenTarget(root);
  before.publish("1.0.0");
  const w = watching(t, [before]);
  await w.until("deploy.done", { version: "1.0.0" });
  const after = givenTarget(root, { intervalMs: 5 });
  after.publish("2.0.0");
  await w.watch.replace([after]);
  t.match(await w.until("watch.started"), { targets: [{ interval_ms: 5, running_version: "1.0.0" }] });
  await w.until("deploy.done", { version: "2.0.0" });
  t.equal(after.polls[0]!.etag === undefined, false, "it still knows what the hub said last");
  const moved = givenTarget(other);
  moved.publish("3.0.0");
  await w.watch.replace([moved]);
  await w.until("deploy.done", { version: "3.0.0", previous_version: null });
  t.match(await w.until("check.done"), { running_version: "3.0.0" });
  t.equal(await running(root), "2.0.0");
  t.equal(await running(other), "3.0.0");
});

t.test(
  "configurations that come faster than they are taken over: the last one is watched, each target once",
  async (t) => {
    const root = temporaryFolder(t);
    const [one, two] = [givenTarget(temporaryFolder(t)), givenTarget(root)];
    for (const target of [one, two]) target.publish("1.0.0");
    const w = watching(t, [one]);
    await Promise.all([w.watch.replace([two]), w.watch.replace([])]);
    await Promise.all([w.watch.replace([two]), w.watch.replace([]), w.watch.replace([one]), w.watch.replace([two])]);
    await w.until("deploy.done");
    for (let checks = 0; checks < 3; checks++) await w.until("check.scheduled");
    t.equal(await running(root), "1.0.0");
    const asked = w.all("check.started").length;
    const scheduled = w.all("check.scheduled").length;
    t.ok(asked - scheduled <= 1, "no target has two loops");
  },
);
