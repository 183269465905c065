import type { Code } from "./codes.ts";

// Apart from the schemas, so that a command that shows hosts, and `--help`, load none.

/** Reasons for which a deployment ended early or waits, though its version is not to blame. */
export const WAIT_CAUSES = ["rights", "policy", "application", "settings", "interrupted", "host", "hub"] as const;
export type WaitCause = (typeof WAIT_CAUSES)[number];

/**
 * Codes of failed deployments that do not blame the version, each with its cause. Any other code blames it, also one
 * that this program does not know, and a report without a code: a rollout that halts wrongly is resumed by one command,
 * and a bad version that has spread is not called back by any. Rollouts, quarantine, webhooks, fleets and pages all
 * judge by this table.
 */
export const BLAMELESS = {
  rights_held: "rights",
  policy_refused: "policy",
  app_not_allowed: "application",
  // The host lacks a setting that the version asks for, or cannot read its own.
  env_missing: "settings",
  provisioner_missing: "settings",
  needs_supervisor: "settings",
  usage: "settings",
  config_invalid: "settings",
  credential_unreadable: "settings",
  key_file_invalid: "settings",
  interrupted: "interrupted",
  // The host cannot take any version now, or has given what this one needs to something else.
  disk_full: "host",
  host_exhausted: "host",
  root_busy: "host",
  root_foreign: "host",
  root_unusable: "host",
  target_watched: "host",
  apps_served: "host",
  journal_unreadable: "host",
  release_unreadable: "host",
  supervisor_unavailable: "host",
  runtime_unavailable: "host",
  needs_unmet: "host",
  port_taken: "host",
  id_taken: "host",
  data_conflict: "host",
  downgrade_refused: "host",
  no_release: "host",
  release_damaged: "host",
  // The hub, the way to it, or what the host may do there.
  hub_unavailable: "hub",
  hub_refused: "hub",
  bad_answer: "hub",
  rate_limited: "hub",
  connection_failed: "hub",
  too_slow: "hub",
  timed_out: "hub",
  redirect_loop: "hub",
  redirect_insecure: "hub",
  redirect_origin: "hub",
  redirect_invalid: "hub",
  artifact_changed: "hub",
  download_incomplete: "hub",
  kit_unreadable: "hub",
  kit_foreign: "hub",
  kit_changed: "hub",
  kit_incomplete: "hub",
  kit_ended: "hub",
  kit_older: "hub",
  kit_unknown: "hub",
  key_missing: "hub",
  key_rejected: "hub",
  forbidden: "hub",
  other_host: "hub",
  host_removed: "hub",
  host_pending: "hub",
} as const satisfies Partial<Record<Code, WaitCause>>;

const CAUSES = new Map<string, WaitCause>(Object.entries(BLAMELESS));

/** Returns why a failed deployment does not blame its version; undefined for a code that does, or is not known. */
export const causeOfCode = (code: string): WaitCause | undefined => CAUSES.get(code);

/** True for a code of a failed deployment that blames the version. */
export const blamesVersion = (code: string): boolean => causeOfCode(code) === undefined;

/** Prefix of the error message of a version that requests more rights than the running one. */
export const HELD_RIGHTS = "held: rights: ";

/** Prefix of the error message of a version that does not meet the host's policy. */
export const HELD_POLICY = "held: policy: ";

/** Prefix of the error message of a version with an application that the host does not allow. */
export const HELD_APPLICATION = "held: application: ";

/** Message of a run that a signal ended. */
export const INTERRUPTED = "Interrupted by a signal.";

/** Message in the report of a run that was killed, or whose machine restarted. */
export const CUT_SHORT = "The deployment was interrupted and has been undone.";

/**
 * Beginnings of error messages in reports that name no code, as hosts of 0.1.0 and 0.2.0 send them. Only sentences that
 * begin with words of the agent itself: nothing that a version writes can be mistaken for one.
 */
const SENTENCES: readonly (readonly [beginning: string, code: keyof typeof BLAMELESS])[] = [
  [HELD_RIGHTS, "rights_held"],
  [HELD_POLICY, "policy_refused"],
  [HELD_APPLICATION, "app_not_allowed"],
  [INTERRUPTED, "interrupted"],
  [CUT_SHORT, "interrupted"],
  ["No space left on the disk", "disk_full"],
  ["The machine lacks something: ", "host_exhausted"],
  ["The project root is in use by ", "root_busy"],
  ["The project root cannot be made or written: ", "root_unusable"],
  ["The connection to http", "connection_failed"],
  ["Nothing listens at http", "connection_failed"],
  ["The hub answered 401", "key_rejected"],
  ["The hub answered 403", "forbidden"],
  ["The hub answered 408", "hub_unavailable"],
  ["The hub answered 429", "rate_limited"],
  ["The hub answered 5", "hub_unavailable"],
];

/** Returns the cause that an error message gives, for a report without a code; undefined if it blames the version. */
export function causeOfMessage(message: string): WaitCause | undefined {
  const code = SENTENCES.find(([beginning]) => message.startsWith(beginning))?.[1];
  return code && BLAMELESS[code];
}
