/** A watch of targets without a hub: what is published is given, deployments are real. */
import type { Test } from "tap";
import { DEPLOY_DEFAULTS } from "../../../lib/agent/deployment/run.ts";
import type { Source } from "../../../lib/agent/sources/source.ts";
import type { Latest } from "../../../lib/agent/watch/decide.ts";
import type { WatchEvent } from "../../../lib/agent/watch/events.ts";
import type { WatchTarget } from "../../../lib/agent/watch/target.ts";
import { Watch } from "../../../lib/agent/watch/watch.ts";
import { type Given, INSTALL, sourceOf } from "./given-source.ts";

/** Longer than anything here takes: a test that waits in vain says for what. */
const PATIENCE_MS = 30_000;

export interface GivenTarget extends WatchTarget {
  /** From now on this is the latest version. */
  publish(version: string | null, facts?: Partial<Latest>): void;
  /** Every poll so far. */
  polls: { etag: string | undefined; at: number }[];
  /** Errors of the polls to come, in turn. */
  failing: unknown[];
  slug: string;
}

export interface GivenOptions extends Partial<Pick<WatchTarget, "name" | "intervalMs" | "hub">> {
  slug?: string;
  plugin?: string;
  steps?: string;
  /** The special facts of the source of a version. */
  given?: (version: string) => Given;
  deploy?: Partial<WatchTarget["options"]>;
}

/** As many hubs as targets were made: no two of them give the same ETag. */
let hubs = 0;

/** A target of a project root. Its hub answers with ETags. */
export function givenTarget(projectRoot: string, options: GivenOptions = {}): GivenTarget {
  const { slug = "prj_0123456789", plugin = "a", intervalMs = 20, given, deploy } = options;
  const { steps = INSTALL.replace("plugin: a", `plugin: ${plugin}`) } = options;
  let latest: Latest = { version: null, identity: null, yanked: [] };
  const hub = hubs++;
  let revision = 0;
  const target: GivenTarget = {
    name: options.name ?? `project:${slug}`,
    slug,
    hub: options.hub ?? "https://hub.example",
    intervalMs,
    polls: [],
    failing: [],
    publish: (version, facts = {}) => {
      latest = { version, identity: null, yanked: [], ...facts };
      revision++;
    },
    poll: async (etag, signal) => {
      signal.throwIfAborted();
      target.polls.push({ etag, at: performance.now() });
      if (target.failing.length > 0) throw target.failing.shift();
      const current = `"${hub} ${revision}"`;
      return etag === current ? { changed: false } : { changed: true, latest, etag: current };
    },
    source: (version): Source =>
      sourceOf(version, steps, { slug, plugin, requestedVersion: version, ...given?.(version) }),
    options: { ...DEPLOY_DEFAULTS, projectRoot, hostId: "host", supervisor: { name: "none" }, ...deploy },
  };
  return target;
}

type Named<E extends WatchEvent["event"]> = Extract<WatchEvent, { event: E }>;

export interface Watching {
  watch: Watch;
  events: WatchEvent[];
  all<E extends WatchEvent["event"]>(event: E): Named<E>[];
  /** The next event of this name and with these fields that nobody has waited for yet; it may have happened already. */
  until<E extends WatchEvent["event"]>(event: E, fields?: Partial<Named<E>>): Promise<Named<E>>;
  /** Ends the watch as SIGTERM does. */
  stop(): Promise<void>;
  stopping: AbortController;
}

/** Starts a watch, which ends with the test at the latest. */
export function watching(
  t: Test,
  targets: readonly WatchTarget[],
  random: () => number = () => 0.5,
  hintTimes: ConstructorParameters<typeof Watch>[3] = undefined,
  healthTimes: ConstructorParameters<typeof Watch>[4] = undefined,
): Watching {
  const events: WatchEvent[] = [];
  const waiting = new Set<() => void>();
  const watch = new Watch(
    targets,
    (event) => {
      events.push(event);
      for (const look of [...waiting]) look();
    },
    random,
    hintTimes,
    healthTimes,
  );
  const stopping = new AbortController();
  const ended = watch.run(stopping.signal);
  let seen = 0;
  const stop = async (): Promise<void> => {
    stopping.abort();
    await ended;
  };
  t.teardown(stop);
  return {
    watch,
    events,
    stopping,
    stop,
    all: <E extends WatchEvent["event"]>(name: E) => events.filter((event): event is Named<E> => event.event === name),
    until: <E extends WatchEvent["event"]>(name: E, fields: Partial<Named<E>> = {}) =>
      new Promise<Named<E>>((resolve, reject) => {
        const wanted = Object.entries(fields) as [keyof Named<E>, unknown][];
        const look = (): void => {
          const at = events.findIndex(
            (event, index) =>
              index >= seen &&
              event.event === name &&
              wanted.every(([key, value]) => (event as Named<E>)[key] === value),
          );
          if (at === -1) return;
          seen = at + 1;
          waiting.delete(look);
          clearTimeout(timer);
          resolve(events[at] as Named<E>);
        };
        const timer = setTimeout(() => {
          waiting.delete(look);
          const last = events.slice(-5).map((event) => JSON.stringify(event));
          reject(new Error(`no ${name} ${JSON.stringify(fields)}; the last events: ${last.join("\n")}`));
        }, PATIENCE_MS);
        waiting.add(look);
        look();
      }),
  };
}
