/**
 * A fleet of watches and two hubs on virtual time: the real decisions of both, and faults that follow from a seed: lost
 * and late reports, dead hosts, hubs that restart and whose clocks differ, versions that are bad on some hosts or on
 * those of a label. Nothing is sent and nothing is written, so an hour of ten thousand hosts takes seconds, and each
 * seed can be played again.
 */
import { decide as decideOnHost } from "../../lib/agent/watch/decide.ts";
import type { Labels } from "../../lib/contract/labels.ts";
import { FIRST_STANDING, type Standing } from "../../lib/hub/records/rollouts.ts";
import { answerTo, type Gate, type HostAnswer } from "../../lib/hub/rollouts/answer.ts";
import { decide, type Rules } from "../../lib/hub/rollouts/decide.ts";
import { FleetTally, type ReportedHost } from "../../lib/hub/rollouts/tally.ts";
import { waveOf, wavesOf } from "../../lib/hub/rollouts/waves.ts";
import { isOpenAt, nextOpening, parseWindow } from "../../lib/hub/rollouts/window.ts";
import type { QuarantineEntry } from "../../lib/releases/quarantine.ts";
import { Random } from "../fuzz/random.ts";

export interface Simulated {
  seed: number;
  /** Whether the new version fails on some hosts. */
  isBad: boolean;
  state: Standing["state"];
  /** Hosts of the first wave, and hosts on which the version was tried in vain or still runs at the end. */
  firstWave: number;
  reached: number;
  /** Virtual milliseconds until its end. */
  tookMs: number;
  /** Broken rules, each once. */
  faults: string[];
}

const OLD = "1.0.0";
const NEW = "2.0.0";
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const STEP_MS = 5000;
/** The longest simulated time, but for closed windows; a rollout that takes longer is stuck. */
const LONGEST_MS = 12 * HOUR;
/** The clocks of two hubs differ by this much at the most. */
const MOST_SKEW_MS = MINUTE;
const WAVES = ["1%", "10%", "50%", "100%"];
/** Some close before a rollout can end, go over midnight, or lie where clocks change. */
const WINDOWS = ["Mon-Fri 10:00-10:25 Europe/Berlin", "Tue-Sat 22:30-00:15 America/New_York"].concat(
  "Sun 01:30-03:30 Europe/Berlin",
);
/** The second one is the evening before a change of clocks in Berlin. */
const STARTS = ["2026-11-24T09:00:00Z", "2026-10-24T20:00:00Z"].map((text) => Date.parse(text));
const START = STARTS[0]!;
const RULES: Rules = {
  version: NEW,
  labelled: WAVES.map(() => false),
  soakMs: 10 * MINUTE,
  maxFailing: { value: 2, isShare: true },
  minDone: { value: 90, isShare: true },
  window: undefined,
  approve: false,
};

interface Host {
  id: string;
  labels: Labels;
  running: string;
  ran: Set<string>;
  quarantine: QuarantineEntry[];
  /** Whether the new version fails here. */
  fails: boolean;
  isDead: boolean;
  /** Milliseconds by which its polls and reports are late. */
  slowness: number;
  /** A deployment that is under way. */
  deploying: { version: string; endsAt: number } | undefined;
  nextPollAt: number;
  /** The report that the hub has yet to get. */
  unsent: ReportedHost | undefined;
}

const isBusy = ({ deploying, unsent, isDead }: Host): boolean =>
  !isDead && (deploying !== undefined || unsent !== undefined);

/** Plays one seed. */
export function simulate(seed: number, size: number): Simulated {
  const random = new Random(seed);
  const start = random.pick(STARTS);
  const window = random.once(3) ? parseWindow(random.pick(WINDOWS)) : undefined;
  const waveTexts = random.once(2) ? ["env=canary", ...WAVES] : WAVES;
  const rules: Rules = { ...RULES, labelled: waveTexts.map((wave) => wave.includes("=")), window };
  const hubClocks = [0, random.below(MOST_SKEW_MS)] as const;
  const isBad = random.below(3) > 0;
  // On 5 % of the hosts and more: fewer are within what the rules allow.
  const badPercent = 5 + random.below(40);
  const rollback = random.once(2);
  const id = `rol_${seed}`;
  const waves = wavesOf(waveTexts);
  const tallied = { id, version: NEW, waves, failuresSince: start - MOST_SKEW_MS, known: 0, kept: [] };
  const isBadByLabel = random.once(3);
  const faults = new Set<string>();
  const hosts = Array.from({ length: size }, (_, index): Host => {
    const isHit = random.below(100) < badPercent;
    const labels = { region: isHit ? "eu" : "us", ...(random.once(80) && { env: "canary" }) };
    return {
      ...{ id: `host-${index}`, running: OLD, ran: new Set([OLD]), quarantine: [], unsent: undefined, labels },
      fails: isBad && (isBadByLabel ? labels.region === "eu" : isHit),
      // Some are switched off: the hub has not heard of them for days.
      isDead: random.once(50),
      slowness: random.once(20) ? random.below(5 * MINUTE) : random.below(2000),
      ...{ deploying: undefined, nextPollAt: start + random.below(MINUTE) },
    };
  });
  const waveOfHost = new Map(hosts.map((host) => [host, waveOf(id, waves, host)]));

  // The hub's disk: after a restart its memory is built from these reports.
  const reports = new Map<string, ReportedHost>();
  const reportOf = (host: Host, now: number, tried: string, error: string | null): ReportedHost => ({
    ...{ id: host.id, labels: host.labels, running: host.running, tried, hasFailed: error !== null, error },
    ...{ reportedAt: now, heardAt: now, firstChange: 0, isNamed: true },
  });
  for (const host of hosts) {
    const silentMs = host.isDead ? 48 * HOUR : 0;
    reports.set(host.id, reportOf(host, start - silentMs, OLD, null));
  }
  let standing: Standing = FIRST_STANDING;
  let isWithdrawn = false;
  let fleet = new FleetTally(tallied);
  for (const report of reports.values()) fleet.set(report);
  let isDownUntil = 0;
  let openedAt = -Infinity;
  const publishedAt = start + random.below(5 * MINUTE);
  let haltedAt = Infinity;
  const gate = (): Gate => {
    const isRolling = standing.state === "running" || standing.state === "paused";
    const rollout = { id, isRunning: standing.state === "running", waves, open: standing.open, window, known: 0 };
    return { above: [{ version: NEW, isRolling, isTakenBack: isWithdrawn }], rollout: isRolling ? rollout : undefined };
  };

  function hear(report: ReportedHost, now: number): void {
    const received = { ...report, reportedAt: now, heardAt: now };
    reports.set(report.id, received);
    fleet.set(received);
  }

  /** The hub has heard of a host by its poll. */
  function see(host: Host, now: number): void {
    const report = reports.get(host.id)!;
    if (now - report.heardAt < HOUR) return;
    report.heardAt = now;
    fleet.set(report);
  }

  function hubTurn(trueNow: number): void {
    if (trueNow < isDownUntil) return;
    const now = trueNow + random.pick(hubClocks);
    if (random.once(400)) {
      isDownUntil = now + random.below(3 * MINUTE);
      fleet = new FleetTally(tallied);
      for (const report of reports.values()) fleet.set(report);
      return;
    }
    const before = standing;
    const tally = fleet.at(now);
    if (tally.waves.reduce((sum, wave) => sum + wave.hosts, 0) > size) faults.add("a host counts more than once");
    standing = decide(rules, before, { now, isPublished: trueNow >= publishedAt, tally });
    if (standing.state === "halted" && before.state !== "halted") {
      isWithdrawn = rollback;
      haltedAt = trueNow;
    }
    if (standing.open > before.open + 1) faults.add("two waves opened at once");
    if (before.state !== "running" && standing.open !== before.open) faults.add("a wave opened while halted");
    if (standing.open === before.open) return;
    if (before.open > 0 && now - (before.soakingSince ?? now) < rules.soakMs) faults.add("a wave opened early");
    if (trueNow - openedAt < rules.soakMs - MOST_SKEW_MS) faults.add("a wave opened earlier than clocks differ");
    if (!isOpenAt(window, now)) faults.add("a wave opened outside of the window");
    openedAt = trueNow;
  }

  /** One poll: the answer of the hub, and the decision of the watch about it. */
  function poll(host: Host, trueNow: number): void {
    const now = trueNow + random.pick(hubClocks);
    if (host.unsent !== undefined && !random.once(10)) {
      hear(host.unsent, now);
      host.unsent = undefined;
    }
    // A poll may be lost, too.
    if (random.once(200)) return;
    see(host, now);
    const runsIt = host.running === NEW;
    const asking = { id: host.id, labels: host.labels, firstChange: 0, running: host.running };
    const answer: HostAnswer =
      trueNow < publishedAt
        ? { version: OLD }
        : standing.state === "completed"
          ? { version: NEW }
          : answerTo(gate(), OLD, asking, now);
    const decision = decideOnHost({
      running: host.running,
      latest: { version: answer.version, identity: null, yanked: [], withdrawn: answer.withdrawn ?? null },
      ...{ quarantine: host.quarantine, paused: false, damaged: false, allowDowngrade: false, ran: host.ran },
    });
    const deployMs = 2000 + random.below(30_000);
    if (decision.do === "go-back") host.deploying = { version: OLD, endsAt: trueNow + deployMs };
    if (decision.do !== "deploy") return;
    const { version } = decision;
    if (version === NEW && standing.state !== "completed") {
      if (waveOfHost.get(host)! >= standing.open) faults.add("a host got the version before its wave");
      if (standing.state !== "running" && !runsIt) faults.add("a host got the version after the halt");
      if (!isOpenAt(window, now) && !runsIt) faults.add("a host got the version outside of the window");
    }
    if (host.quarantine.some((entry) => entry.version === version)) faults.add("a version left quarantine by itself");
    if (version === OLD && !host.ran.has(OLD)) faults.add("a host went to a version that it never ran");
    host.deploying = { version, endsAt: trueNow + deployMs };
  }

  const tried = new Set<Host>();
  function finish(host: Host, { version, endsAt }: { version: string; endsAt: number }, now: number): void {
    host.deploying = undefined;
    if (version === NEW && host.fails) {
      tried.add(host);
      const reason = "it is not healthy";
      host.quarantine.push({ version, identity: null, code: "unhealthy", reason, at: new Date(now).toISOString() });
      // A bad version may take the host with it: nothing is heard of it again.
      if (random.once(20)) host.isDead = true;
      else host.unsent = reportOf(host, endsAt, version, reason);
      return;
    }
    host.running = version;
    host.ran.add(version);
    host.unsent = reportOf(host, endsAt, version, null);
  }

  /** Passes over the hours in which nothing may switch, but for ten minutes after and before them. */
  function closedFor(now: number): number {
    if (window === undefined || standing.state !== "running" || now < publishedAt || hosts.some(isBusy)) return 0;
    const opening = nextOpening(window, now);
    if (opening.from <= now || isOpenAt(window, now - 10 * MINUTE)) return 0;
    return Math.max(0, opening.from - now - 10 * MINUTE);
  }

  let now = start;
  for (let stepped = 0; stepped < LONGEST_MS; stepped += STEP_MS, now += STEP_MS) {
    hubTurn(now);
    const closed = closedFor(now);
    if (closed > 0) {
      now += closed;
      for (const host of hosts) {
        if (host.isDead) continue;
        host.nextPollAt += closed;
        see(host, now);
      }
    }
    for (const host of hosts) {
      if (host.isDead) continue;
      if (host.deploying !== undefined) {
        if (now < host.deploying.endsAt) continue;
        finish(host, host.deploying, now);
      }
      if (now < host.nextPollAt) continue;
      host.nextPollAt = now + 54_000 + random.below(12_000) + host.slowness;
      if (now >= isDownUntil) poll(host, now);
    }
    // After a halt the hosts have an hour to go back.
    if (now > haltedAt + HOUR) break;
    if (standing.state === "completed") break;
  }
  if (isBad && standing.state === "completed" && tried.size > size / 20) faults.add("a bad version was completed");
  if (!isBad && standing.state !== "completed") faults.add(`a good version ended ${standing.state}`);
  if (isWithdrawn && hosts.some((host) => !host.isDead && host.deploying === undefined && host.running === NEW))
    faults.add("a host kept a version that was taken back");
  const inWaves = (open: number): Host[] => hosts.filter((host) => waveOfHost.get(host)! < open);
  // The first waves in which enough hosts fail to halt, although some of those die without a word.
  const telling = waveTexts.findIndex((_wave, index) => {
    const open = inWaves(index + 1);
    return open.filter(({ fails }) => fails).length * 0.75 > (open.length * RULES.maxFailing.value) / 100 + 1;
  });
  const reached = isBad ? hosts.filter((host) => host.ran.has(NEW) || tried.has(host)).length : 0;
  if (telling !== -1 && reached > inWaves(telling + 1).length + size / 100)
    faults.add(`a bad version reached ${reached} hosts`);
  const firstWave = inWaves(1).length;
  return { seed, isBad, state: standing.state, firstWave, reached, tookMs: now - start, faults: [...faults] };
}

/** Measures a look at a fleet and the decision about its waves. @returns milliseconds */
export function timeDecision(size: number): number {
  const fleet = new FleetTally({
    id: "rol_time",
    version: NEW,
    waves: wavesOf(WAVES),
    failuresSince: START,
    known: 0,
    kept: [],
  });
  for (let index = 0; index < size; index++) {
    const report = {
      running: OLD,
      tried: OLD,
      hasFailed: false,
      error: null,
      reportedAt: START,
      heardAt: START,
      firstChange: 0,
      isNamed: true,
    };
    fleet.set({ id: `host-${index}`, labels: {}, ...report });
  }
  const begun = performance.now();
  decide(RULES, { ...FIRST_STANDING, open: 1 }, { now: START, isPublished: true, tally: fleet.at(START) });
  return performance.now() - begun;
}
