import { randomUUID } from "node:crypto";

/** Hints remembered for streams that reconnect. */
const MAX_REMEMBERED = 1000;

/** Targets that a caller may see: names by the ids of their rows. */
export type VisibleTargets = ReadonlyMap<string, string>;

/** Last hints of a hub: a stream that comes back hears of those that it missed. */
export class SentHints {
  /** Distinguishes event ids of this run from those of other hubs and of earlier runs. */
  readonly #epoch = randomUUID().slice(0, 8);
  #number = 0;
  /** Last hinted changes, up to `#number`; undefined stands for everything. */
  #remembered: (ReadonlySet<string> | undefined)[] = [];

  /** Id of the last hint. */
  get id(): string {
    return `${this.#epoch}-${this.#number}`;
  }

  /** @param changed ids of the changed projects, plugins and services; undefined for all */
  add(changed: ReadonlySet<string> | undefined): void {
    this.#number++;
    this.#remembered.push(changed);
    if (this.#remembered.length > MAX_REMEMBERED) this.#remembered.shift();
  }

  /** Returns the targets whose hints a client at `lastEventId` may have missed. */
  missed(lastEventId: string | undefined, visible: VisibleTargets): string[] {
    const [, epoch, number] = /^([0-9a-f]{8})-(\d{1,15})$/.exec(lastEventId ?? "") ?? [];
    const since = epoch === this.#epoch ? Number(number) : -1;
    const behind = this.#number - since;
    const later = this.#remembered.slice(this.#remembered.length - behind);
    if (since < 0 || behind < 0 || behind > this.#remembered.length || later.includes(undefined))
      return [...visible.values()];
    return [...visible].filter(([id]) => later.some((changed) => changed!.has(id))).map(([, name]) => name);
  }
}
