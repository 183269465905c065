/**
 * Plan of a seed: a fleet, and the commands of its operator. Commands name versions and rollouts by a number that is
 * resolved during play, so that a plan can be played again without some of them.
 */
import { Random } from "../fuzz/random.ts";
import { pick, rulesOf, STORIES, type Told } from "./stories.ts";

export interface Rules {
  waves: string[];
  soak_seconds: number;
  max_failing: string;
  min_done: string;
  window: string | null;
  approve: boolean;
  on_halt: "stop" | "rollback";
  bound_hosts: boolean;
}

export interface HostPlan {
  id: string;
  /** Owner of its key; on surface B all are the owner's. */
  key: "owner" | "other" | "nobody";
  labels: Record<string, string>;
  /** Whether its key speaks for it alone. */
  isBound: boolean;
  /** Whether it names itself, and its version, in its polls. */
  saysName: boolean;
  saysRunning: boolean;
  /** Whether it runs the first version when the plan begins; otherwise it is installed later. */
  isInstalled: boolean;
  /** Whether the hub has not heard of it for two days. */
  isDead: boolean;
  /** Milliseconds after the beginning at which it polls first. */
  startsAt: number;
  everyMs: number;
  /** Milliseconds by which its reports are late. */
  lateMs: number;
}

export type Pick = { pick: number };
export type Deed =
  | ({ do: "publish" | "stage"; isOfRollout: boolean } & Pick)
  | ({ do: "approve staged"; isOwn: boolean } & Pick)
  | ({
      do: "start";
      of: "unpublished" | "published" | "any" | "lowest" | "highest";
      replace: boolean;
      allow: boolean;
      rules: Rules;
    } & Pick)
  | { do: "pause" | "resume" | "approve" }
  | { do: "abort"; rollback: boolean }
  | ({ do: "release" | "yank" | "unyank" | "delete" | "publish again" | "reject staged" } & Pick)
  | ({ do: "label"; labels: Record<string, string> | null } & Pick)
  | ({ do: "kill" } & Pick)
  | ({ do: "reinstall" } & Pick)
  | ({ do: "forget" } & Pick)
  | { do: "transfer" | "wait" }
  | { do: "restart"; which: number };

/** Action, with its time and hub. */
export type Command = Deed & {
  /** Milliseconds after the previous one. */
  after: number;
  /** Hub that carries it out. */
  hub: number;
  /** Whether that hub decides about rollouts at once, as it does unless it dies after its commit. */
  isHeard: boolean;
};

export interface Plan {
  seed: number;
  kind: "project" | "plugin";
  /** Milliseconds since 1970. */
  start: number;
  /** Milliseconds by which the clock of each hub is ahead. */
  clocks: number[];
  /** Labels that may be published; the first ones are published when the plan begins. */
  pool: string[];
  published: number;
  /** Whether the operator never uses rollouts. */
  isPlain: boolean;
  hosts: HostPlan[];
  commands: Command[];
  /** Versions that fail on some hosts: on a percentage, or on those with a label. */
  bad: Record<string, number | string>;
  /** Versions that make hosts unhealthy after their deployment. */
  ailing: Record<string, Illness>;
}

/** Illness of hosts that run a version. */
export interface Illness {
  /** Percentage of the hosts. */
  share: number;
  /** Milliseconds after the deployment at which they become unhealthy; the next field has those until they recover. */
  afterMs: number;
  forMs: number;
}

const MINUTE = 60_000;
const POOLS = [
  ["1.0.0", "1.0.1", "1.1.0", "1.1.1", "1.2.0", "1.10.0", "2.0.0-rc.1", "2.0.0", "2.0.1", "2.1.0"],
  ["1.0.0", "1.1.0", "1.2.0", "1.2.1", "2.0.0", "2.0.1", "2.0.2"],
  ["nightly-1", "nightly-2", "1.0.0-rc.1", "nightly-3", "1.0.0", "nightly-4"],
];
/** Windows that open and close while a plan is played, by its beginning: one lies where clocks change. */
const STARTS: [string, string[]][] = [
  [
    "2026-11-24T08:40:00Z",
    ["Tue 09:00-09:20 UTC", "Mon-Fri 09:50-10:40 Europe/Berlin", "Mon-Sat 03:50-04:25 America/New_York"],
  ],
  ["2026-10-24T23:10:00Z", ["Sun 01:30-03:30 Europe/Berlin", "Sat-Sun 23:00-00:30 UTC"]],
];
const MOST_SKEW_MS = MINUTE;

/** Actions by their frequency. */
const DEEDS: [number, (random: Random, windows: readonly string[]) => Deed][] = [
  [14, (random) => ({ do: "publish", isOfRollout: random.below(3) > 0, pick: random.below(100) })],
  [14, (random, windows) => startOf(random, windows)],
  [4, () => ({ do: "pause" })],
  [6, () => ({ do: "resume" })],
  [4, () => ({ do: "approve" })],
  [7, (random) => ({ do: "abort", rollback: random.once(2) })],
  [5, (random) => ({ do: "release", pick: random.below(100) })],
  [5, (random) => ({ do: "yank", pick: random.below(100) })],
  [4, (random) => ({ do: "unyank", pick: random.below(100) })],
  [3, (random) => ({ do: "delete", pick: random.below(100) })],
  [9, (random) => ({ do: "stage", isOfRollout: random.below(3) > 0, pick: random.below(100) })],
  [10, (random) => ({ do: "approve staged", isOwn: random.once(4), pick: random.below(100) })],
  [2, (random) => ({ do: "reject staged", pick: random.below(100) })],
  [2, (random) => ({ do: "publish again", pick: random.below(100) })],
  [4, (random) => ({ do: "label", labels: random.pick([null, { env: "canary" }, { region: "eu" }]), ...pick(random) })],
  [1, (random) => ({ do: "kill", ...pick(random) })],
  [2, (random) => ({ do: "reinstall", ...pick(random) })],
  [1, (random) => ({ do: "forget", ...pick(random) })],
  [2, () => ({ do: "transfer" })],
  [3, (random) => ({ do: "restart", which: random.below(2) })],
  [10, () => ({ do: "wait" })],
];

function startOf(random: Random, windows: readonly string[]): Deed {
  const of = random.pick(["unpublished", "unpublished", "published", "any"] as const);
  const rules = rulesOf(random, windows);
  return { do: "start", of, replace: random.once(2), allow: random.once(2), rules, pick: random.below(100) };
}

function deedOf(random: Random, windows: readonly string[], isPlain: boolean): Deed {
  for (;;) {
    let left = random.below(DEEDS.reduce((sum, [weight]) => sum + weight, 0));
    const [, make] = DEEDS.find(([weight]) => (left -= weight) < 0)!;
    const deed = make(random, windows);
    const isOfRollouts = ["start", "pause", "resume", "approve", "abort", "release"].includes(deed.do);
    if (!isPlain || !isOfRollouts) return deed;
  }
}

function hostOf(random: Random, index: number, kind: Plan["kind"]): HostPlan {
  const isLate = random.once(5);
  return {
    id: `host-${index}`,
    key: kind === "project" || !random.once(5) ? "owner" : random.pick(["other", "nobody"]),
    labels: { ...(random.once(5) && { env: "canary" }), ...(random.once(3) && { region: "eu" }) },
    isBound: random.once(3),
    saysName: !random.once(8),
    saysRunning: !random.once(6),
    isInstalled: !isLate || random.once(2),
    isDead: random.once(25),
    startsAt: isLate ? random.below(40 * MINUTE) : random.below(MINUTE),
    everyMs: 50_000 + random.below(40_000),
    lateMs: random.once(6) ? random.below(5 * MINUTE) : random.below(3000),
  };
}

/** Makes the plan of a seed. @param size of the fleet; by default 5 to 20 hosts @param minutes longest duration */
export function planOf(seed: number, size?: number, minutes = 120): Plan {
  const random = new Random(seed);
  const kind = random.once(3) ? "plugin" : "project";
  const [start, windows] = random.pick(STARTS);
  const pool = random.pick([POOLS[0]!, POOLS[0]!, POOLS[1]!, POOLS[1]!, POOLS[2]!]);
  const isPlain = random.once(20);
  const hosts = Array.from({ length: size ?? 5 + random.below(16) }, (_, index) => hostOf(random, index, kind));
  // Most operators label a canary.
  if (!random.once(4)) Object.assign(hosts[0]!, { ...SOUND, labels: { env: "canary" } });
  const commands: Command[] = [];
  let story: Told[] = [];
  for (let spent = 0, count = 10 + random.below(25); commands.length < count && spent < minutes * MINUTE;) {
    if (!isPlain && story.length === 0 && random.once(6)) story = random.pick(STORIES)(random, windows);
    // Something else may come between.
    const { after: fixed, ...told } = (random.once(6) ? undefined : story.shift()) ?? { after: undefined };
    const after = fixed ?? random.pick([random.below(15_000), random.below(3 * MINUTE), random.below(8 * MINUTE)]);
    spent += after;
    const where = { after, hub: random.below(2), isHeard: !random.once(5) };
    commands.push({ ...("do" in told ? told : deedOf(random, windows, isPlain)), ...where });
  }
  const bad: Plan["bad"] = {};
  for (const version of pool.slice(1)) if (random.once(3)) bad[version] = random.pick([100, 50, 20, "env", "region"]);
  return {
    ...{ seed, kind, start: Date.parse(start), pool, published: 1 + random.below(2), isPlain, hosts, commands, bad },
    clocks: [0, random.once(3) ? random.below(MOST_SKEW_MS) : 0],
    ailing: ailingOf(new Random(seed + 2_000_000), pool),
  };
}

function ailingOf(random: Random, pool: readonly string[]): Plan["ailing"] {
  const ailing: Plan["ailing"] = {};
  for (const version of pool)
    if (random.once(4))
      ailing[version] = {
        share: random.pick([100, 50, 20]),
        afterMs: 20_000 + random.below(4 * MINUTE),
        forMs: 30_000 + random.below(10 * MINUTE),
      };
  return ailing;
}

const SOUND: Partial<HostPlan> = {
  ...{ key: "owner", saysName: true, saysRunning: true, isInstalled: true, isDead: false, startsAt: 0, lateMs: 0 },
};
