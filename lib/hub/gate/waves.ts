import { hash } from "node:crypto";
import { labelOf, type Labels } from "../../contract/labels.ts";
import { percentOf } from "../../contract/rollout-terms.ts";

/** Waves in which hosts get a version, one after the other. */
export interface Waves {
  count: number;
  /** Waves selected by a label, in order. */
  labelled: readonly { index: number; name: string; value: string }[];
  /** Waves selected by a share of the hosts, rising to 100 percent. */
  shares: readonly { index: number; percent: number }[];
}

/** Parses waves. @param waves validated by the contract */
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

/** Number of places over which hosts are spread; a wave of 1% takes the first hundredth. */
const PLACES = 2 ** 48;

/** Returns the place of a host, from 0 to below 100. It needs no list of hosts, so new ones have a place, too. */
const cohortOf = (seed: string, hostId: string): number =>
  (Number.parseInt(hash("sha256", `${seed}\0${hostId}`).slice(0, 12), 16) / PLACES) * 100;

/** Rule by which a rollout knows hosts. */
export interface Knowing {
  /** Change number of the owner's view at the start: hosts that first reported later are new. */
  known: number;
  /** Whether only hosts count whose keys speak for them alone. */
  onlyBound: boolean;
}

/** Facts of a host by which a rollout knows it. */
export interface Knowable {
  /** Change number of its first report in the owner's view; undefined before that. */
  firstChange: number | undefined;
  /** Whether its reports come from a key that speaks for it alone. */
  isBound: boolean;
}

/** Tells whether a rollout knows a host: it reported before the start, or only its own key can speak for it. */
export const isKnown = ({ known, onlyBound }: Knowing, { firstChange, isBound }: Knowable): boolean =>
  isBound || (!onlyBound && firstChange !== undefined && firstChange <= known);

/** Facts of a host that decide its wave. */
export interface HostName {
  /** Host id; undefined for a host that does not name itself, which is in the last wave. */
  id: string | undefined;
  labels: Labels;
}

/**
 * Returns the index of a host's wave: the first one that selects a label of it, else the one of its place.
 *
 * @param seed of its place
 */
export function waveOf(seed: string, { count, labelled, shares }: Waves, { id, labels }: HostName): number {
  if (id === undefined) return count - 1;
  for (const { index, name, value } of labelled) if (labels[name] === value) return index;
  const cohort = cohortOf(seed, id);
  return (shares.find(({ percent }) => cohort < percent) ?? shares.at(-1)!).index;
}
