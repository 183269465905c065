import { amountOf, faultOfWaves, ROLLOUT_DEFAULTS } from "../contract/rollout-terms.ts";
import { connection } from "./connection.ts";
import { choice, duration, flag, parsed, text } from "./kinds.ts";
import { group } from "./option.ts";
import { dashboard } from "./watch.ts";

/** Options of the commands for rollouts. */

/** Parses waves. @throws Error whose message continues "--waves …" */
function wavesFrom(text: string): string[] {
  const waves = text.split(",").map((wave) => wave.trim());
  const fault = faultOfWaves(waves);
  if (fault !== undefined) throw new Error(fault);
  return waves;
}

/** Parses an amount. @throws Error whose message continues "--max-failing …" */
function amountFrom(text: string): string {
  if (amountOf(text) !== undefined) return text;
  throw new Error(`is a share such as 2%, or a number of hosts, not ${JSON.stringify(text)}`);
}

/** Options of `rollout start`. */
export const rolloutStart = {
  ...group("Rollout", {
    waves: parsed(
      { metavar: "LIST", help: "Shares that rise to 100%, and labels", default: ROLLOUT_DEFAULTS.waves.join(",") },
      wavesFrom,
    ),
    soakMs: duration({
      name: "soak",
      needsUnit: true,
      help: "How long each wave is watched before the next",
      default: ROLLOUT_DEFAULTS.soak_seconds * 1000,
    }),
    maxFailing: parsed(
      { metavar: "SHARE", help: "More failing hosts halt it: 2%, or a number", default: ROLLOUT_DEFAULTS.max_failing },
      amountFrom,
    ),
    minDone: parsed(
      { metavar: "SHARE", help: "Hosts that run it before a wave soaks", default: ROLLOUT_DEFAULTS.min_done },
      amountFrom,
    ),
    window: text({ metavar: "HOURS", help: "When hosts may switch: Mon-Thu 09:00-16:00 Europe/Berlin" }),
    approve: flag({ help: "Each further wave waits for `rollout approve`" }),
    onHalt: choice(["stop", "rollback"], { help: "What a halt does", default: ROLLOUT_DEFAULTS.on_halt }),
    replace: text({ metavar: "ROLLOUT", help: "Take the place of this rollout" }),
    boundHosts: flag({ help: "Count no hosts but those with a key of their own" }),
    allowEmptyWave: flag({ help: "Let a wave have a label that no host has" }),
  }),
  ...connection,
};

const which = group("Rollout", {
  rollout: text({ metavar: "ROLLOUT", help: "A rollout by its id", defaultText: "the newest" }),
});

/** Options of `rollout show`. */
export const rolloutShow = { ...which, ...dashboard, ...connection };

const reason = group("Rollout", { reason: text({ metavar: "TEXT", help: "Why, for people who look at it" }) });

/** Options of `rollout pause`, `resume` and `approve`. */
export const rolloutChange = { ...which, ...reason, ...connection };

/** Options of `rollout abort`. */
export const rolloutAbort = {
  ...group("Rollout", {
    rollback: flag({ help: "Hosts that took the version go back" }),
    dryRun: flag({ help: "Only tell what would happen" }),
  }),
  ...rolloutChange,
};

/** Options of `rollout wait`, where `--timeout` limits the whole wait. */
export const rolloutWait = {
  ...which,
  ...group("Wait", {
    withinMs: duration({
      name: "rollout-timeout",
      flag: "--timeout",
      help: "How long to wait for its end",
      default: 86_400_000,
    }),
    intervalMs: duration({
      name: "rollout-interval",
      flag: "--interval",
      help: "Time between two looks",
      default: 2000,
      minMs: 100,
    }),
  }),
  hubUrl: connection.hubUrl,
  apiKey: connection.apiKey,
};
