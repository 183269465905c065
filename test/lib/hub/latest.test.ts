// Holds: what latest means (lib/hub/gate/latest.ts)
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import t, { type Test } from "tap";
import { isErrorBody, startHub } from "../../support/hub/harness.ts";
import { operatedFleet, until } from "../../support/hub/project-fleet.ts";
import { QUICK } from "../../support/hub/rollouts.ts";

/** Sequences of what operators do, and what hosts are told after each (docs/contract/rollouts.md). */

const LABELS = { labels: { env: "canary" } };
const CANARY = { waves: ["env=canary", "100%"], ...QUICK };

/** A canary and two other hosts, which run the first version. */
async function canaryFleet(t: Test, ...versions: string[]) {
  const hub = await startHub(t);
  const fleet = await operatedFleet(hub);
  await fleet.publish(...versions);
  await fleet.report("canary", versions[0]!, LABELS);
  await fleet.report("b", versions[0]!);
  await fleet.report("c", versions[0]!);
  const start = async (version: string, more: object = {}) => {
    const answer = await fleet.start({ version, ...CANARY, ...more });
    t.match(answer, { status: 201 });
    return answer.body.id as string;
  };
  /** A rollout of the version has opened its first wave, and then fails on the canary. */
  const halted = async (version: string, more: object = {}) => {
    const id = await start(version, more);
    await fleet.publish(version);
    t.equal(await fleet.told("canary", versions[0]!), version);
    await fleet.report("canary", version, { status: "failed", running_version: versions[0], ...LABELS });
    await until(
      () => fleet.show(id),
      ({ state }) => state === "halted",
    );
    return id;
  };
  return { hub, ...fleet, ask: (version: string) => fleet.start({ version, ...CANARY }), start, halted };
}

t.test("a halted version stays held when its replacement is aborted, yanked, or was a typo", async (t) => {
  for (const ending of ["abort", "yank", "typo", "rollback"] as const) {
    const fleet = await canaryFleet(t, "1.0.0");
    const bad = await fleet.halted("2.0.0");
    const next = await fleet.start("2.0.1", { replace: bad });
    if (ending !== "typo") await fleet.publish("2.0.1");
    if (ending === "yank") await fleet.yank("2.0.1");
    else await fleet.act(next, "abort", { rollback: ending === "rollback" });
    for (const host of ["canary", "b", "c", undefined])
      t.equal(await fleet.told(host, "1.0.0"), "1.0.0", `${ending}: ${host}`);
    t.equal(await fleet.told("canary", "2.0.0"), "2.0.0", `${ending}: who runs it keeps it`);
    const taken = ending === "rollback" ? "1.0.0 withdrawn 2.0.1" : ending === "abort" ? "2.0.1" : "1.0.0";
    t.equal(await fleet.told("canary", "2.0.1"), taken, `${ending}: and of the replacement`);
    t.match(await fleet.list(), { "1.0.0": "latest", "2.0.0": "held replaced" });
  }
});

t.test("a version that is yanked or deleted while another rolls is given to nobody", async (t) => {
  for (const action of ["yank", "remove"] as const) {
    const fleet = await canaryFleet(t, "0.9.0", "1.0.0");
    await fleet.start("2.0.0");
    await fleet.publish("2.0.0");
    t.equal(await fleet.told("b", "0.9.0"), "1.0.0");
    await fleet[action]("1.0.0");
    t.equal(await fleet.told("b", "0.9.0"), "0.9.0", "the greatest open one that is left");
    t.equal(await fleet.told("b", "1.0.0"), "0.9.0", "also to a host that runs it");
    t.match(await fleet.list(), { "0.9.0": "latest", "2.0.0": "rolling started" });
    await fleet[action]("0.9.0");
    t.equal(await fleet.told("b", "0.9.0"), "no_version");
    t.equal(await fleet.told("canary", "1.0.0"), "2.0.0", "but for hosts of open waves");
  }
});

t.test("what is published beside a rollout is held until a person releases it", async (t) => {
  const fleet = await canaryFleet(t, "1.0.0");
  await fleet.publish("1.1.0", "1.0.2");
  t.match(await fleet.list(), { "1.1.0": "latest", "1.0.2": "open" }, "without one it is open");
  const id = await fleet.start("1.2.0");
  await fleet.publish("1.2.0");
  const beside = await fleet.publish("1.1.1");
  t.match(beside.body.state, { name: "held", cause: "beside", rollout: id });
  t.equal(await fleet.told("b", "1.0.0"), "1.1.0");
  t.equal(await fleet.told("b", "1.1.1"), "1.1.1", "who was given it by its name keeps it");
  for (const host of ["canary", "b", "c"]) {
    await until(
      () => fleet.told(host, "1.1.0"),
      (answer) => answer === "1.2.0",
    );
    await fleet.report(host, "1.2.0", host === "canary" ? LABELS : {});
  }
  await until(
    () => fleet.show(id),
    ({ state }) => state === "completed",
  );
  t.match(await fleet.list(), { "1.2.0": "latest", "1.1.1": "held beside" }, "its end frees no other version");
  t.match((await fleet.release("1.1.1")).body, { version: "1.1.1", released: true });
  t.match((await fleet.release("1.1.1")).body, { released: false }, "again changes nothing");
  t.match(await fleet.list(), { "1.1.1": "open" });
  t.equal(await fleet.told("b", "1.2.0"), "1.2.0");
});

t.test("a version whose lost bytes are published again is what it was, in its state and in its rank", async (t) => {
  const fleet = await canaryFleet(t, "1.0.0", "1.1.0+a", "1.1.0+b");
  await fleet.start("2.0.0");
  await fleet.publish("2.0.0", "1.0.1");
  const before = await fleet.list();
  t.match(before, { "1.1.0+a": "open", "1.1.0+b": "latest", "2.0.0": "rolling started", "1.0.1": "held beside" });
  const blobs = join(fleet.hub.dataDir, "blobs");
  const lost = (await readdir(blobs, { recursive: true })).filter((name) => /art_[^/]*$/.test(name));
  t.equal(lost.length, 5);
  for (const name of lost) await rm(join(blobs, name));
  for (const version of ["1.1.0+a", "1.0.1", "2.0.0"]) t.equal((await fleet.publish(version)).status, 201);
  t.strictSame(
    await fleet.list(),
    before,
    "of two versions of one rank, the one that was published last is the latest",
  );
});

t.test("an open version that comes to rank above a rollout ends it, and its version stays held", async (t) => {
  for (const way of ["release", "unyank"] as const) {
    const fleet = await canaryFleet(t, "1.0.0", "1.1.1");
    if (way === "unyank") await fleet.yank("1.1.1");
    else {
      const first = await fleet.start("1.1.2");
      await fleet.publish("1.1.2");
      await fleet.act(first, "abort");
      await fleet.yank("1.1.1");
    }
    const id = await fleet.start("1.1.0");
    await fleet.publish("1.1.0");
    t.equal(await fleet.told("canary", "1.0.0"), "1.1.0");
    if (way === "unyank") await fleet.unyank("1.1.1");
    else t.equal((await fleet.release("1.1.2")).status, 200);
    const above = way === "unyank" ? "1.1.1" : "1.1.2";
    t.match(await fleet.show(id), { state: "aborted", reason: new RegExp(`${above}.*ranks above`) });
    t.match(await fleet.list(), { [above]: "latest", "1.1.0": "held aborted" });
    for (const running of ["1.0.0", "1.1.0"]) t.equal(await fleet.told("canary", running), above);
  }
});

t.test("each held version is released by itself", async (t) => {
  const fleet = await canaryFleet(t, "1.0.0");
  const bad = await fleet.halted("2.0.0");
  await fleet.publish("2.0.1");
  isErrorBody(t, await fleet.release("2.0.0"), 409, "conflict");
  await fleet.act(bad, "abort");
  await fleet.release("2.0.0");
  t.equal(await fleet.told("b", "1.0.0"), "2.0.0");
  t.equal(await fleet.told("b", "2.0.1"), "2.0.1", "hosts on the other held one stay");
  await fleet.release("2.0.1");
  t.equal(await fleet.told("b", "1.0.0"), "2.0.1");
  await fleet.yank("2.0.1");
  t.equal(await fleet.told("b", "2.0.1"), "2.0.0");
  isErrorBody(t, await fleet.release("9.9.9"), 404, "not_found");
});

t.test("a start of an open version takes it from new hosts only, and an abort holds it", async (t) => {
  const fleet = await canaryFleet(t, "1.0.0", "1.1.0");
  t.equal(await fleet.told("b", "1.0.0"), "1.1.0");
  const id = await fleet.start("1.1.0");
  t.equal(await fleet.told("b", "1.0.0"), "1.0.0", "new hosts get the next lower open one");
  t.equal(await fleet.told("b", "1.1.0"), "1.1.0", "who runs it keeps it");
  t.equal(await fleet.told("canary", "1.0.0"), "1.1.0");
  await fleet.act(id, "abort");
  t.equal(await fleet.told("canary", "1.0.0"), "1.0.0");
  t.match(await fleet.list(), { "1.0.0": "latest", "1.1.0": "held aborted" });
});

t.test("pause, halt, abort and replace move no host; a yank and its end hold what was rolling", async (t) => {
  const fleet = await canaryFleet(t, "1.0.0");
  const id = await fleet.start("2.0.0");
  await fleet.publish("2.0.0");
  const both = async () => [await fleet.told("canary", "2.0.0"), await fleet.told("b", "1.0.0")];
  t.strictSame(await both(), ["2.0.0", "1.0.0"]);
  await fleet.act(id, "pause");
  t.strictSame(await both(), ["2.0.0", "1.0.0"], "paused");
  t.equal(await fleet.told("canary", "1.0.0"), "1.0.0", "nobody new while paused");
  await fleet.act(id, "resume");
  t.equal(await fleet.told("canary", "1.0.0"), "2.0.0");
  await fleet.yank("2.0.0");
  t.match(await fleet.show(id), { state: "halted", reason: /yanked/ }, "with the answer to the yank");
  isErrorBody(t, await fleet.act(id, "resume"), 409, "conflict");
  await fleet.unyank("2.0.0");
  t.match(await fleet.list(), { "2.0.0": "held halted" }, "until resume or release");
  t.strictSame(await both(), ["2.0.0", "1.0.0"], "halted");
  await fleet.act(id, "resume");
  t.match(await fleet.list(), { "2.0.0": "rolling started" });
  await fleet.act(id, "abort");
  t.strictSame(await both(), ["2.0.0", "1.0.0"], "aborted");
});

t.test("what was taken back goes back by its name, and up where something higher is open", async (t) => {
  const fleet = await canaryFleet(t, "1.0.0");
  const first = await fleet.halted("2.0.0", { on_halt: "rollback" });
  t.equal(await fleet.told("canary", "2.0.0"), "1.0.0 withdrawn 2.0.0");
  const second = await fleet.start("2.0.1", { replace: first });
  await fleet.publish("2.0.1");
  t.equal(await fleet.told("canary", "2.0.0"), "2.0.1", "straight up");
  t.equal(await fleet.told("b", "2.0.0"), "1.0.0 withdrawn 2.0.0", "the mark survives a replacement");
  await fleet.act(second, "abort", { rollback: true });
  t.equal(await fleet.told("canary", "2.0.1"), "1.0.0 withdrawn 2.0.1");
  t.equal(await fleet.told("canary", "2.0.0"), "1.0.0 withdrawn 2.0.0", "and the second step");
  t.equal(await fleet.told("canary", "1.0.0"), "1.0.0");
  await fleet.yank("1.0.0");
  t.equal(await fleet.told("canary", "2.0.1"), "no_version", "with no version open it keeps what it has");
  await fleet.release("2.0.1");
  t.equal(await fleet.told("canary", "2.0.0"), "2.0.1", "a release ends the mark");
  t.equal(await fleet.told("canary", "2.0.1"), "2.0.1");
});

t.test("a host that was installed anew is told what others are, whatever its last report says", async (t) => {
  const fleet = await canaryFleet(t, "1.0.0");
  const id = await fleet.start("2.0.0");
  await fleet.publish("2.0.0");
  await fleet.report("canary", "2.0.0", LABELS);
  await fleet.act(id, "abort");
  t.equal((await fleet.latest("canary")).body.version, "2.0.0", "by its last report, where it does not say");
  t.equal(await fleet.told("canary", "none"), "1.0.0");
});

t.test("a version whose rollout ended before its publication is held; one that completed is open", async (t) => {
  const fleet = await canaryFleet(t, "1.0.0");
  const typo = await fleet.start("1.4.0");
  await fleet.act(typo, "abort");
  t.match((await fleet.publish("1.4.0")).body.state, { name: "held", cause: "aborted", rollout: typo });
  t.equal(await fleet.told("b", "1.0.0"), "1.0.0");
  t.match(await fleet.list(), { "1.4.0": "held aborted" });
});

t.test("a start refuses what is yanked, deleted or not above the open ones, and says what to do", async (t) => {
  const fleet = await canaryFleet(t, "1.0.0", "1.1.0", "1.2.0");
  await fleet.yank("1.1.0");
  await fleet.remove("1.2.0");
  for (const [version, message] of [
    ["1.1.0", /was yanked: take that back/],
    ["1.2.0", /was deleted/],
    ["0.9.0", /1\.0\.0.* ranks above it. Roll out a version that ranks above it/],
    ["2.0.0-rc.1", /1\.0\.0.* ranks above it/],
  ] as const) {
    const answer = await fleet.ask(version);
    isErrorBody(t, answer, 409, "conflict");
    t.match(answer.body.error, message);
  }
});

t.test("a deletion of the rolling version ends its rollout, and nothing of it is given", async (t) => {
  const fleet = await canaryFleet(t, "1.0.0");
  const id = await fleet.start("2.0.0");
  await fleet.publish("2.0.0");
  await fleet.remove("2.0.0");
  t.match(await fleet.show(id), { state: "aborted", reason: /deleted/ });
  t.equal(await fleet.told("canary", "2.0.0"), "1.0.0", "not even to a host that runs it");
  t.match(await fleet.list(), { "1.0.0": "latest" });
});

t.test("a target without rollouts answers the same bytes whatever a host says", async (t) => {
  const fleet = await canaryFleet(t, "1.0.0", "1.1.0");
  for (const running of ["none", "1.0.0", "9.9.9"]) {
    const { body, headers } = await fleet.latest("b", { "x-sealift-running": running });
    t.strictSame([body, headers.get("etag")], [{ version: "1.1.0" }, '"1.1.0"']);
  }
});
