import * as z from "zod";
import { timestamp, versionLabel } from "../identifiers.ts";
import { amountOf, faultOfWaves } from "../rollout-terms.ts";

/** Rollouts on the wire (docs/contract/rollouts.md). */

const waves = z.array(z.string().max(130)).superRefine((given, context) => {
  const fault = faultOfWaves(given);
  if (fault !== undefined) context.addIssue({ code: "custom", message: fault });
});

const amount = z
  .string()
  .refine((text) => amountOf(text) !== undefined, "must be a share such as 2%, or a number of hosts");

/** The rules of a rollout, as its owner gives them. */
const rolloutRules = z.object({
  waves,
  /** The time for which each wave is watched after enough of its hosts run the version. */
  soak_seconds: z
    .number()
    .nonnegative()
    .max(30 * 86_400),
  /** More hosts than this whose deployment failed halt the rollout: of the hosts in open waves. */
  max_failing: amount,
  /** The soak begins when so many of the hosts in open waves run the version. */
  min_done: amount,
  /** `Mon-Thu 09:00-16:00 Europe/Berlin`: only then waves open and hosts switch. */
  window: z.string().max(200).nullable(),
  /** Whether each wave after the first waits for a person. */
  approve: z.boolean(),
  on_halt: z.enum(["stop", "rollback"]),
  /** Whether only hosts count whose keys speak for them alone. */
  bound_hosts: z.boolean(),
});
export type RolloutRules = z.infer<typeof rolloutRules>;

export const rolloutRequest = z.strictObject({
  version: versionLabel,
  ...rolloutRules.partial().shape,
  /** The id of the target's rollout that this one takes the place of. */
  replace: z.string().max(64).optional(),
  /** Whether a wave may be chosen by a label that no known host has; refused with `wave_empty` otherwise. */
  allow_empty_wave: z.boolean().optional(),
});
export type RolloutRequest = z.infer<typeof rolloutRequest>;

/** `running` and `paused` may go on; `halted` needs a person; the others have ended. */
const rolloutState = z.enum(["running", "paused", "halted", "completed", "aborted", "replaced"]);
export type RolloutState = z.infer<typeof rolloutState>;

/** The reasons for which a running rollout waits. */
const waitingFor = z.enum(["publication", "window", "hosts", "soak", "approval"]);
export type WaitingFor = z.infer<typeof waitingFor>;

const hosts = z.int().nonnegative();

/** The hosts of one wave by their last reports; a host is in one wave. */
const waveCounts = z.object({
  hosts,
  /** Hosts that run the version. */
  done: hosts,
  failing: hosts,
});
export type WaveCounts = z.infer<typeof waveCounts>;

const failingHost = z.object({ host_id: z.string(), error_message: z.string().nullable() });
export type FailingHost = z.infer<typeof failingHost>;

export const rolloutRecord = z.object({
  id: z.string(),
  /** `plugin:SLUG`, `service:SLUG` or `project:ID`. */
  target: z.string(),
  version: z.string(),
  /** The greatest version that every host may have, at its end for one that has ended; null without one. */
  base_version: z.string().nullable(),
  state: rolloutState,
  /** Why it was halted, aborted or paused. */
  reason: z.string().nullable(),
  waiting_for: waitingFor.nullable(),
  /** When that ends by itself: the soak, or the time until the window opens. */
  until: timestamp.nullable(),
  /** Waves that are open: the first ones. */
  open: z.int().nonnegative(),
  waves: z.array(waveCounts.extend({ wave: z.string() })),
  /** Some of the hosts that fail, with their reasons. */
  failing: z.array(failingHost),
  /** Hosts that the rollout does not know, or that do not say their name: in the last wave, and in no count. */
  new_hosts: hosts.default(0),
  /** Hosts in no count because they keep a greater version. */
  keeping: z.array(z.object({ version: z.string(), hosts })).default([]),
  rules: rolloutRules,
  created_at: timestamp,
  created_by: z.string(),
  opened_at: timestamp.nullable(),
  ended_at: timestamp.nullable(),
});
export type RolloutRecord = z.infer<typeof rolloutRecord>;

/** Requests of a person to a rollout. */
export const ROLLOUT_ACTIONS = ["pause", "resume", "approve", "abort"] as const;
export type RolloutAction = (typeof ROLLOUT_ACTIONS)[number];

export const rolloutChange = z.strictObject({
  reason: z.string().min(1).max(1024).optional(),
  /** With `abort`: hosts that took the version go back. */
  rollback: z.boolean().optional(),
});
export type RolloutChange = z.infer<typeof rolloutChange>;
