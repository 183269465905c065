import * as z from "zod";
import { WAIT_CAUSES } from "../blame.ts";
import { timestamp, versionLabel } from "../identifiers.ts";
import { later } from "../later.ts";
import { amountOf, faultOfWaves } from "../rollout-terms.ts";

/** Rollouts on the wire (docs/contract/rollouts.md). */

const waves = later(() =>
  z.array(z.string().max(130)).superRefine((given, context) => {
    const fault = faultOfWaves(given);
    if (fault !== undefined) context.addIssue({ code: "custom", message: fault });
  }),
);

const amount = later(() =>
  z.string().refine((text) => amountOf(text) !== undefined, "must be a share such as 2%, or a number of hosts"),
);

/** Rules of a rollout, as given by its owner. */
const rolloutRules = later(() =>
  z.object({
    waves,
    /** Time for which each wave is observed after enough of its hosts run the version, in seconds. */
    soak_seconds: z
      .number()
      .nonnegative()
      .max(30 * 86_400),
    /** Failed hosts beyond which the rollout halts; a share is of the hosts in open waves. */
    max_failing: amount,
    /** Hosts in open waves that must run the version before the soak starts. */
    min_done: amount,
    /** Window in which waves open and hosts switch, such as `Mon-Thu 09:00-16:00 Europe/Berlin`. */
    window: z.string().max(200).nullable(),
    /** Whether each wave after the first waits for a person. */
    approve: z.boolean(),
    on_halt: z.enum(["stop", "rollback"]),
    /** Whether only hosts count whose keys speak for them alone. */
    bound_hosts: z.boolean(),
  }),
);
export type RolloutRules = z.infer<typeof rolloutRules>;

export const rolloutRequest = later(() =>
  z.strictObject({
    version: versionLabel,
    ...rolloutRules.partial().shape,
    /** Id of the target's rollout that this one replaces. */
    replace: z.string().max(64).optional(),
    /** Whether a wave may be chosen by a label that no known host has; refused with `wave_empty` otherwise. */
    allow_empty_wave: z.boolean().optional(),
  }),
);
export type RolloutRequest = z.infer<typeof rolloutRequest>;

/** `running` and `paused` can continue; `halted` needs a person; the others have ended. */
const rolloutState = later(() => z.enum(["running", "paused", "halted", "completed", "aborted", "replaced"]));
export type RolloutState = z.infer<typeof rolloutState>;

/** Reasons for which a running rollout waits. */
const waitingFor = later(() => z.enum(["publication", "window", "hosts", "soak", "approval"]));
export type WaitingFor = z.infer<typeof waitingFor>;

const hosts = later(() => z.int().nonnegative());

/** Cause for which a host waits, though no version failed there (blame.ts). */
const waitCause = later(() => z.enum(WAIT_CAUSES));

/** Hosts of one wave by their last reports; a host is in one wave. */
const waveCounts = later(() =>
  z.object({
    hosts,
    /** Hosts that run the version. */
    done: hosts,
    failing: hosts,
  }),
);
export type WaveCounts = z.infer<typeof waveCounts>;

const failingHost = later(() =>
  z.object({
    host_id: z.string(),
    error_message: z.string().nullable(),
    /** Time of its report by the hub's clock; hubs before 0.3.0 leave it out. */
    reported_at: timestamp.optional(),
  }),
);
export type FailingHost = z.infer<typeof failingHost>;

/** Hosts that halted a rollout, as they were then. */
const halt = later(() =>
  z.object({
    at: timestamp,
    /** Number of all hosts that failed. */
    failing: hosts,
    /** Some of them, with their reasons. */
    hosts: z.array(failingHost),
  }),
);
export type Halt = z.infer<typeof halt>;

/** Hosts that wait for one cause. */
const waitingHosts = later(() => z.object({ cause: waitCause, hosts }));
export type WaitingHosts = z.infer<typeof waitingHosts>;

const awaitedHost = later(() =>
  z.object({
    host_id: z.string(),
    /** Version that it runs; null for none, or where its reports do not say. */
    running_version: z.string().nullable(),
    /** Whether a report of it says that it installed the rollout's version at some time. */
    has_installed: z.boolean(),
    /** Time of its last report or poll, to the hour. */
    last_heard_at: timestamp,
    /** Why the host waits with the rollout's version, and what it says of that; null if it does not. */
    waits: waitCause.nullable().default(null),
    error_message: z.string().nullable().default(null),
  }),
);
export type AwaitedHost = z.infer<typeof awaitedHost>;

export const rolloutRecord = later(() =>
  z.object({
    id: z.string(),
    /** `plugin:SLUG`, `service:SLUG` or `project:ID`. */
    target: z.string(),
    /** Name of the target; null from a hub before 0.3.0. */
    name: z.string().nullable().default(null),
    version: z.string(),
    /** Greatest open version, for an ended rollout as of its end; null without one. */
    base_version: z.string().nullable(),
    state: rolloutState,
    /** Reason why it was halted, aborted or paused. */
    reason: z.string().nullable(),
    waiting_for: waitingFor.nullable(),
    /** Time when the waiting ends by itself: the end of the soak, or the opening of the window. */
    until: timestamp.nullable(),
    /** Number of open waves, counted from the first. */
    open: z.int().nonnegative(),
    waves: z.array(waveCounts.extend({ wave: z.string() })),
    /** Some of the failing hosts, with their reasons. */
    failing: z.array(failingHost),
    /** Hosts that halted the rollout, until somebody resumes or ends it; null for any other state. */
    halt: halt.nullable().default(null),
    /** Counted hosts of open waves that wait with the version, though it is not to blame, by cause. */
    waits: z.array(waitingHosts).default([]),
    /** Some of the hosts that a rollout in `waiting_for: hosts` waits for, the longest silent first. */
    awaited: z.array(awaitedHost).default([]),
    /** Number of all hosts that it waits for. */
    awaited_hosts: hosts.default(0),
    /** Hosts that the rollout does not know, or that do not name themselves: in the last wave, and not counted. */
    new_hosts: hosts.default(0),
    /** Hosts that are not counted because they keep a greater version. */
    keeping: z.array(z.object({ version: z.string(), hosts })).default([]),
    rules: rolloutRules,
    created_at: timestamp,
    created_by: z.string(),
    opened_at: timestamp.nullable(),
    ended_at: timestamp.nullable(),
  }),
);
export type RolloutRecord = z.infer<typeof rolloutRecord>;

/** Actions of a person on a rollout. */
export const ROLLOUT_ACTIONS = ["pause", "resume", "approve", "abort"] as const;
export type RolloutAction = (typeof ROLLOUT_ACTIONS)[number];

export const rolloutChange = later(() =>
  z.strictObject({
    reason: z.string().min(1).max(1024).optional(),
    /** With `abort`: hosts that took the version go back. */
    rollback: z.boolean().optional(),
  }),
);
export type RolloutChange = z.infer<typeof rolloutChange>;
