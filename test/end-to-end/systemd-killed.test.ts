// Only in test:all: systemd boots, and its units are killed.
// Holds: a run by systemd's units that is killed at any step ends whole (lib/agent/deployment/interrupted.ts)
import t, { type Test } from "tap";
import { IS_NIGHTLY } from "../support/effort.ts";
import { type Said, SystemdHost } from "../support/host/systemd-host.ts";
import type { Moment } from "../support/programs/kill-at.ts";
import { needs } from "../support/programs/optional.ts";
import { until } from "../support/until.ts";

const WATCH = "sealift-watch@blue";

/** Words of an event and, where it has steps of one name, of one of them. */
const event = (name: string): string => `"event":"${name}"`;
const step = (id: string): string => `"event":"step.started","id":"${id}"`;

/** Steps of each deployment up to its switch, and of one that goes well. */
const BEGINNING: readonly Omit<Moment, "signal">[] = [
  ...["deploy.started", "lock.acquired", "resolve.ok", "fetch.started", "fetch.done", "steps.planned"].map((name) => ({
    text: event(name),
  })),
  { text: step("web") },
  { text: event("switch.started") },
  { text: event("switch.done") },
  ...[undefined, 100, 400, 800].map((afterMs) => ({ text: step("restart-app-web"), ...(afterMs && { afterMs }) })),
  ...[undefined, 300, 900].map((afterMs) => ({ text: step("healthcheck-app-web"), ...(afterMs && { afterMs }) })),
];
const COMMIT = ["commit.done", "report.written", "report.sent"].map((name) => ({ text: event(name) }));
/** The watch's own last word. */
const DONE = [{ text: event("deploy.done") }];
const UNDO = [
  ...[undefined, 50, 300, 700].map((afterMs) => ({ text: event("rollback.started"), ...(afterMs && { afterMs }) })),
  ...[undefined, 400].map((afterMs) => ({ text: event("rollback.done"), ...(afterMs && { afterMs }) })),
  ...["rollback.asked", "report.written"].map((name) => ({ text: event(name) })),
];
/** Moments of a watch that finds what a killed one has left. */
const RECOVERY: readonly (readonly Omit<Moment, "signal">[])[] = [
  [{ text: event("recovery.done") }],
  ...[30, 150, 400, 900].map((afterMs) => {
    const at = { text: event("watch.started"), afterMs };
    return [at, at];
  }),
];

interface Turn {
  is: "good" | "bad";
  by: "watch" | "agent" | "rollback" | "systemd";
  moments: readonly Moment[];
}

const KILL = { signal: "SIGKILL" } as const;
const TERM = { signal: "SIGTERM" } as const;

/** Signals in turn. */
const ended = (at: Omit<Moment, "signal">, n: number): Moment => ({ ...at, ...(n % 2 === 0 ? KILL : TERM) });

const GROUPS: readonly (readonly Turn[])[] = [
  [...BEGINNING, ...COMMIT, ...DONE].flatMap((at): Turn[] =>
    [KILL, TERM].map((signal) => ({ is: "good", by: "watch", moments: [{ ...at, ...signal }] })),
  ),
  [...UNDO, ...DONE].flatMap((at): Turn[] =>
    [KILL, TERM].map((signal) => ({ is: "bad", by: "watch", moments: [{ ...at, ...signal }] })),
  ),
  RECOVERY.flatMap((moments): Turn[] =>
    (["good", "bad"] as const).map((is) => ({
      ...{ is, by: "watch" },
      moments: [{ text: step("healthcheck-app-web") }, ...moments].map((at) => ({ ...at, ...KILL })),
    })),
  ),
  [...BEGINNING.slice(8), ...COMMIT].map((at, n) => ({ is: "good", by: "agent", moments: [ended(at, n)] })),
  UNDO.map((at, n) => ({ is: "bad", by: "agent", moments: [ended(at, n + 1)] })),
  [...BEGINNING.slice(7), ...COMMIT].map((at, n) => ({ is: "good", by: "rollback", moments: [ended(at, n)] })),
  [...BEGINNING.slice(7), ...UNDO.slice(0, 4)].map((at, n) => ({
    ...{ is: n % 2 === 0 || at.text.includes("rollback") ? "bad" : "good", by: "systemd" },
    moments: [{ ...at, ...TERM }],
  })),
];

/** Every turn, so that each part of them has some of each group. */
const TURNS: readonly Turn[] = GROUPS.flatMap((group) =>
  group.map((turn, n) => ({ turn, at: (n + 0.5) / group.length })),
)
  .toSorted((a, b) => a.at - b.at)
  .map(({ turn }) => turn);

/** Every turn at night, else one in so many. */
const STRIDE = 17;
const turns = TURNS.filter((_, n) => IS_NIGHTLY || n % STRIDE === STRIDE - 1);

/** Ends somebody in the middle of a version that is on its way, and waits until nobody has work left. */
async function play(host: SystemdHost, { is, by, moments }: Turn, version: string): Promise<number> {
  if (is === "good") await host.roll(version);
  if (by === "agent") await host.systemctl("stop", WATCH);
  const printed = host.printed().length;
  if (by === "watch") host.endAt(...moments);
  await host.publish(version, is === "good" ? `r.end("${version}")` : "r.writeHead(500).end()");
  if (by === "systemd") {
    const has = (text: string) =>
      host
        .printed()
        .slice(printed)
        .some((line) => JSON.stringify(line).includes(text));
    await until(() => has(moments[0]!.text), PATIENCE_MS);
    await host.systemctl("daemon-reexec");
  }
  if (by === "rollback") {
    await until(async () => (await host.rollout()).state === "completed", PATIENCE_MS, LOOK_MS);
    await host.systemctl("stop", WATCH);
  }
  if (by === "agent" || by === "rollback") {
    host.endAt(...moments);
    await (by === "agent" ? host.deploy(version) : host.rollback());
    await host.systemctl("start", WATCH);
  }
  // A run that a signal ended leaves nothing to recover, so some moments never come.
  await until(() => by === "systemd" || host.moments.length === 0, 20_000).catch(() => undefined);
  const ended = by === "systemd" ? 1 : moments.length - host.moments.length;
  host.endAt();
  return ended;
}

/** True once nobody has work left: what is to run runs, and the hub has heard so. */
const isQuiet = ({ status, fleet }: Said, expected: string, { is, by }: Turn): boolean =>
  status.running === expected &&
  fleet.running === expected &&
  status.faults.every((fault) => fault === null) &&
  // The version that was gone back from ran before, too: only the report tells that it was heard of.
  (is === "good" || by === "rollback" || fleet.status !== "success");

/** Most time until everybody has done what is left to do, and time between two looks, in milliseconds. */
const PATIENCE_MS = 120_000;
const LOOK_MS = 300;

/** Holds that one version answers, that all say which, and that nobody is blamed for a kill. @returns that version */
async function check(t: Test, host: SystemdHost, turn: Turn, version: string, before: string): Promise<string> {
  const { is, by } = turn;
  const judged = async (): Promise<boolean> => (await host.quarantine()).some((entry) => entry.version === version);
  if (is === "good") {
    await until(async () => (await host.rollout()).state !== "running", PATIENCE_MS, LOOK_MS).catch(() => undefined);
    t.match(await host.rollout(), { state: "completed", halt: null, waits: [], awaited: [] });
  } else await until(judged, PATIENCE_MS).catch(() => undefined);
  const wentBack = by === "rollback" && (await judged());
  const expected = is === "good" && !wentBack ? version : before;
  let said = await host.said();
  await until(async () => isQuiet((said = await host.said()), expected, turn), PATIENCE_MS, 1_000).catch(
    () => undefined,
  );
  t.match(said.status, { running: expected, unhealthy: null, faults: [null] });
  t.match(said.fleet, { running: expected, isUnhealthy: false });
  // The last report of a rollback that was killed says that it failed.
  if (by !== "rollback") t.equal(said.fleet.status, is === "good" ? "success" : "rolled_back");
  for (let times = 0; times < 3; times++) t.equal(await host.asked(), expected, "what is said is what answers");
  t.equal(await host.processes(), 1, "and nobody else runs");
  const held = (await host.quarantine()).find((entry) => entry.version === version);
  t.equal(held?.code, is === "bad" ? "unhealthy" : wentBack ? "operator" : undefined, "a kill condemns nobody");
  return expected;
}

const skip = needs("systemd-nspawn", "pkcheck", "tar", "curl") || (process.getuid?.() !== 0 && "needs root");
t.test("whoever is killed, and at whichever step, one version answers and all say which", { skip }, async (t) => {
  const host = await SystemdHost.boot(t);
  await host.publish("1.0.0", `r.end("1.0.0")`);
  await until(async () => (await host.heard()).running === "1.0.0", PATIENCE_MS, LOOK_MS);
  let before = "1.0.0";
  let kills = 0;
  for (const [n, turn] of turns.entries()) {
    const version = `${n + 2}.0.0`;
    const moments = turn.moments.map(({ text, signal, afterMs = 0 }) => `${signal} ${afterMs} ms after ${text}`);
    await t.test(`${turn.is} ${version}, ${turn.by}: ${moments.join(", ")}`, async (t) => {
      const ended = await play(host, turn, version);
      kills += ended;
      before = await check(t, host, turn, version, before);
      if (!t.passing()) for (const line of host.work()) t.comment(line);
    });
  }
  t.ok(kills >= turns.length * 0.8, `${kills} kills`);
});
