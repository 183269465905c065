import { labelOf } from "./labels.ts";

/** The terms of a rollout as texts: without a schema, for programs that start without one. */

/** Returns the percentage of a wave such as `10%`; undefined for a wave selected by a label. */
export function percentOf(wave: string): number | undefined {
  const match = /^(\d{1,3}(?:\.\d{1,4})?)%$/.exec(wave);
  return match === null ? undefined : Number(match[1]);
}

/**
 * Tells whether the last open wave waits for a host that runs the version, unless a person approves: a wave selected by
 * a label passes only after one of its hosts, and a rollout completes only after any host.
 *
 * @param waves with the number of their hosts that run the version @param open number of open waves
 */
export function lacksHost(waves: readonly { isLabelled: boolean; done: number }[], open: number): boolean {
  const current = waves[open - 1];
  if (current?.isLabelled === true && current.done === 0) return true;
  return open === waves.length && waves.every(({ done }) => done === 0);
}

const MAX_WAVES = 20;

/** Returns the first fault of a list of waves, or undefined. */
export function faultOfWaves(waves: readonly string[]): string | undefined {
  if (waves.length === 0 || waves.length > MAX_WAVES) return `must be 1 to ${MAX_WAVES} waves`;
  let before = 0;
  for (const [index, wave] of waves.entries()) {
    const percent = percentOf(wave);
    if (percent === undefined) {
      if (labelOf(wave) === undefined)
        return `${JSON.stringify(wave)} is neither a share such as 10% nor a label env=prod`;
      if (waves.indexOf(wave) !== index) return `${wave} comes twice`;
      continue;
    }
    if (percent <= before || percent > 100) return `shares must rise to 100%, and ${wave} comes after ${before}%`;
    before = percent;
  }
  return before === 100 ? undefined : `shares must rise to 100%, and the last one is ${before}%`;
}

/** Share of hosts such as `2%`, or a number of hosts. */
export interface Amount {
  value: number;
  isShare: boolean;
}

/** Reads `2%` or `3`. @returns undefined when it is neither */
export function amountOf(text: string): Amount | undefined {
  const match = /^(\d{1,9}(?:\.\d{1,4})?)(%?)$/.exec(text);
  if (match === null) return undefined;
  const amount = { value: Number(match[1]), isShare: match[2] === "%" };
  const isSound = amount.isShare ? amount.value <= 100 : Number.isInteger(amount.value);
  return isSound ? amount : undefined;
}

export const ROLLOUT_DEFAULTS = {
  waves: ["1%", "10%", "50%", "100%"],
  soak_seconds: 1800,
  max_failing: "2%",
  min_done: "90%",
  on_halt: "stop",
} as const;
