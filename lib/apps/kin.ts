import { setTimeout as sleep } from "node:timers/promises";
import type { ApplicationsFile } from "../contract/files/applications.ts";
import type { ApplicationStatus } from "../contract/surfaces/app-serve.ts";
import { readGrants, readInstalled } from "../releases/applications.ts";
import { healthUrl } from "../releases/health-url.ts";
import type { Layout } from "../releases/layout.ts";
import { probe } from "../support/network/probe.ts";
import { ServeFault } from "./serve-fault.ts";

/** Time between two looks at an application that others wait for, in milliseconds. */
const PAUSE_MS = 200;
/** Shortest time limit of an answer, in milliseconds. */
const LEAST_ANSWER_MS = 1_000;

/** Application, as those see it that are of it or that it is of. */
export interface Relative {
  readonly status: ApplicationStatus;
  /** Ends its process until `goOn`; one that does not run stays as it is. */
  pause(): Promise<void>;
  /** Starts it again, if it waits. */
  goOn(): void;
}

/** Relatives of an application: those that are of it end before it and start after it. */
export interface Kin {
  /** Ends the processes of those that are of it. */
  pause(): Promise<void>;
  /** Starts them again. */
  goOn(): void;
  /** Waits until the one that it is of works, for its `health.within`. @throws ServeFault `start_failed` */
  baseWorks(signal: AbortSignal): Promise<void>;
}

/** Families of applications of a project root, by the operator's grants. */
export class Families {
  readonly #layout: Layout;
  readonly #known: ReadonlyMap<string, Relative>;
  readonly #ask: (id: string) => Promise<string | null>;
  #grants: ApplicationsFile["applications"] = {};

  /** @param ask asks by a health command whether an application works: why not, or null */
  constructor(layout: Layout, known: ReadonlyMap<string, Relative>, ask: (id: string) => Promise<string | null>) {
    this.#layout = layout;
    this.#known = known;
    this.#ask = ask;
  }

  /** Takes over what the operator grants now. */
  note({ applications }: ApplicationsFile): void {
    this.#grants = applications;
  }

  /** Returns the application that one is of, or itself. */
  headOf(id: string): string {
    return this.#grants[id]?.of ?? id;
  }

  /** Returns the relatives of an application, as they are at each call. */
  kinOf(id: string): Kin {
    const dependants = (): Relative[] =>
      Object.entries(this.#grants).flatMap(([other, { of }]) => (of === id ? (this.#known.get(other) ?? []) : []));
    return {
      pause: async () => void (await Promise.all(dependants().map((one) => one.pause()))),
      goOn: () => dependants().forEach((one) => one.goOn()),
      baseWorks: async (signal) => {
        const base = this.#grants[id]?.of;
        if (base !== undefined) await this.#works(id, base, signal);
      },
    };
  }

  async #works(id: string, base: string, signal: AbortSignal): Promise<void> {
    const [grants, installed] = await Promise.all([readGrants(this.#layout), readInstalled(this.#layout, base)]);
    const url = grants && installed && healthUrl(grants, base, installed.app);
    const byCommand = installed?.app.health.command !== undefined;
    const limit = performance.now() + (installed?.app.health.within ?? 0) * 1000;
    for (;;) {
      const state = this.#known.get(base)?.status.state ?? "stopped";
      const leftMs = Math.max(LEAST_ANSWER_MS, Math.ceil(limit - performance.now()));
      const answer = async (): Promise<string | null | undefined> =>
        byCommand ? this.#ask(base) : url && (await probe(url, signal, leftMs));
      const fault = state === "running" ? await answer() : `it is ${state}`;
      if (fault === undefined || fault === null) return;
      // Once it is to run again, those that are of it are started, too.
      if (performance.now() >= limit || state === "stopped" || state === "failed" || signal.aborted)
        throw new ServeFault("start_failed", `${id} waits for ${base}, which does not work: ${fault}.`);
      await sleep(PAUSE_MS, undefined, { signal }).catch(() => undefined);
    }
  }
}
