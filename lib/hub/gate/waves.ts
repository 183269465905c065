import { hash } from "node:crypto";
import { labelOf, type Labels } from "../../contract/labels.ts";
import { percentOf } from "../../contract/rollout-terms.ts";

/** Waves of hosts, which get a version one wave after the other. */
export interface Waves {
  count: number;
  /** Waves that a label chooses, in their order. */
  labelled: readonly { index: number; name: string; value: string }[];
  /** Waves that are a share of the hosts, rising to 100. */
  shares: readonly { index: number; percent: number }[];
}

/** @param waves that the contract has checked */
export function wavesOf(waves: readonly string[]): Waves {
  const labelled: Waves["labelled"][number][] = [];
  const shares: Waves["shares"][number][] = [];
  for (const [index, wave] of waves.entries()) {
    const percent = percentOf(wave);
    const label = labelOf(wave);
    if (percent !== undefined) shares.push({ index, percent });
    else if (label !== undefined) labelled.push({ index, name: label[0], value: label[1] });
  }
  return { count: waves.length, labelled, shares };
}

/** Number of places that hosts are spread over; a wave of 1% takes the first hundredth. */
const PLACES = 2 ** 48;

/** Returns the place of a host among all, from 0 to below 100. It needs no list, so that new hosts have one, too. */
const cohortOf = (seed: string, hostId: string): number =>
  (Number.parseInt(hash("sha256", `${seed}\0${hostId}`).slice(0, 12), 16) / PLACES) * 100;

/** Hosts that a rollout knows. */
export interface Knowing {
  /** The change number of the owner's view at the start: hosts that reported first after it are new. */
  known: number;
  /** Whether only hosts count whose keys speak for them alone. */
  onlyBound: boolean;
}

/** The facts of a host by which a rollout knows it. */
export interface Knowable {
  /** The change number of its first report in the owner's view; undefined before that. */
  firstChange: number | undefined;
  /** Whether its reports come from a key that speaks for it alone. */
  isBound: boolean;
}

/** Tells whether a rollout knows a host: it was there before the start, or nobody else can speak for it. */
export const isKnown = ({ known, onlyBound }: Knowing, { firstChange, isBound }: Knowable): boolean =>
  isBound || (!onlyBound && firstChange !== undefined && firstChange <= known);

/** The facts of a host that its wave depends on. */
export interface HostName {
  /** Undefined for one that does not say its name: it is in the last wave. */
  id: string | undefined;
  labels: Labels;
}

/**
 * Returns the index of a host's wave: the first one that a label of it chooses, else by its place.
 *
 * @param seed that its place depends on
 */
export function waveOf(seed: string, { count, labelled, shares }: Waves, { id, labels }: HostName): number {
  if (id === undefined) return count - 1;
  for (const { index, name, value } of labelled) if (labels[name] === value) return index;
  const cohort = cohortOf(seed, id);
  return (shares.find(({ percent }) => cohort < percent) ?? shares.at(-1)!).index;
}
