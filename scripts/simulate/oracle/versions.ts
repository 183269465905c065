/** Published versions and their states, as the page describes them. */
import { compare, type Ordered } from "./order.ts";

export type Cause = "started" | "halted" | "aborted" | "replaced" | "beside" | "uploaded";

export interface Version extends Ordered {
  isYanked: boolean;
  /** State of the version; a staged one is not published yet. */
  state: "open" | "rolling" | "held" | "staged";
  cause: Cause | undefined;
  isTakenBack: boolean;
}

export const isOpenAndUnyanked = ({ state, isYanked }: Version): boolean => state === "open" && !isYanked;

/** Tells whether hosts that run a version may be answered differently. */
export const isGating = ({ state, isYanked, isTakenBack }: Version): boolean =>
  isTakenBack || (!isYanked && (state === "held" || state === "rolling"));

/** Published versions of a target, by label. */
export class Versions extends Map<string, Version> {
  /** Deleted versions that were taken back. */
  readonly #buried = new Map<string, Version>();

  /** Returns the published versions, and deleted ones that were taken back. */
  *known(): Generator<Version> {
    yield* this.values();
    yield* this.#buried.values();
  }

  /** Deletes a version; one that was taken back stays taken back. */
  bury(version: string): boolean {
    const found = this.get(version);
    if (found?.isTakenBack === true) this.#buried.set(version, found);
    return this.delete(version);
  }

  /** Finds a version that hosts which run it leave. */
  takenBack(version: string): Version | undefined {
    const found = this.get(version) ?? this.#buried.get(version);
    return found?.isTakenBack === true ? found : undefined;
  }

  /** Adds an open version. @param publishedAt milliseconds since 1970 by the hub's clock */
  add(version: string, publishedAt: number): void {
    const state = { state: "open", cause: undefined } as const;
    this.set(version, { version, publishedAt, isYanked: false, ...state, isTakenBack: false });
  }

  /** Adds a version that waits for approval. */
  stage(version: string, stagedAt: number): void {
    const state = { state: "staged", cause: "uploaded" } as const;
    this.set(version, { version, publishedAt: stagedAt, isYanked: false, ...state, isTakenBack: false });
  }

  /** Finds a published version. */
  published(version: string): Version | undefined {
    const found = this.get(version);
    return found?.state === "staged" ? undefined : found;
  }

  greatest(isMeant: (version: Version) => boolean): Version | undefined {
    let best: Version | undefined;
    for (const version of this.values())
      if (isMeant(version) && (best === undefined || compare(version, best) > 0)) best = version;
    return best;
  }

  /** Holds a version, if it is published. Keeps an existing mark. */
  hold(version: string, cause: Cause, isTakenBack = false): void {
    const found = this.published(version);
    if (found === undefined) return;
    Object.assign(found, { state: "held", cause, isTakenBack: isTakenBack || found.isTakenBack });
  }

  roll(version: string): void {
    this.#assign(version, { state: "rolling", cause: "started", isTakenBack: false });
  }

  open(version: string): void {
    this.#assign(version, { state: "open", cause: undefined, isTakenBack: false });
  }

  #assign(version: string, facts: Pick<Version, "state" | "cause" | "isTakenBack">): void {
    const found = this.published(version);
    if (found !== undefined) Object.assign(found, facts);
  }
}
