import type { IncomingHttpHeaders } from "node:http";
import { agentIn } from "../../contract/agent-version.ts";
import { hostId } from "../../contract/identifiers.ts";
import { HEADERS } from "../../contract/surfaces/headers.ts";
import { type RootMark, rootMarkIn, rootMarkText } from "../../contract/trust/marks.ts";
import type { Principal } from "../base/principal.ts";
import type { FleetKey } from "./fleet.ts";
import { claimedLabels, claimedVersion } from "./host-headers.ts";
import { nameHosts } from "./host-rows.ts";
import { HourlyNotes } from "./hourly-notes.ts";
import { inTransaction, type Queries } from "./port.ts";
import { type HostClaim, seeHosts, type SeenHost } from "./seen-hosts.ts";

/** Hosts per statement. */
const BATCH = 200;

const HEADER = HEADERS.host.toLowerCase();
const ROOT = HEADERS.root.toLowerCase();

interface Seen extends FleetKey, SeenHost {}

/** Records when hosts that name themselves request the latest version, for fleet views. */
export class Sightings extends HourlyNotes<Seen> {
  readonly #db: Queries;
  /** Hosts whose first sighting is being stored. */
  readonly #naming = new Set<string>();

  /** @param clock returns milliseconds since 1970 */
  constructor(db: Queries, clock: () => number) {
    super(clock);
    this.#db = db;
  }

  /**
   * Records the host of an authorized poll, if it names itself.
   *
   * @param key that polls, where its host may enter the view by that alone: it has to speak for the host and no other
   */
  note({ headers }: { headers: IncomingHttpHeaders }, view: FleetKey, key?: Pick<Principal, "keyId" | "host">): void {
    const host = hostOf(headers);
    if (host === undefined) return;
    const root = followedRootIn(headers) ?? null;
    const agent = agentIn(headers["user-agent"]);
    const by = key?.host === host ? key.keyId : undefined;
    // A host that was removed comes back with another key.
    const name = JSON.stringify([view.holder, view.target, host, root && rootMarkText(root), agent, by]);
    this.noteOnce(name, () => ({
      ...view,
      ...{ id: host, root, agent },
      claim: by === undefined ? undefined : claimIn(headers, by),
    }));
  }

  /** Records the host that follows a stream of hints, which says neither what runs there nor what the host follows. */
  hear({ headers }: { headers: IncomingHttpHeaders }, view: FleetKey): void {
    const id = hostOf(headers);
    if (id === undefined) return;
    const agent = agentIn(headers["user-agent"]);
    const name = JSON.stringify([view.holder, view.target, id, "heard", agent]);
    this.noteOnce(name, () => ({ ...view, ...{ id, root: undefined, agent, claim: undefined } }));
  }

  /**
   * Records at once that a host which has reported names itself: features count it from then on. If that fails, its
   * next poll does it.
   */
  async noteFirst(view: FleetKey, hostId: string, now: number): Promise<void> {
    const name = JSON.stringify([view.holder, view.target, hostId]);
    if (this.#naming.has(name)) return;
    this.#naming.add(name);
    const seenAt = new Date(now).toISOString();
    await inTransaction(this.#db, (transaction) => nameHosts(transaction, view, [hostId], seenAt))
      .catch(() => undefined)
      .finally(() => this.#naming.delete(name));
  }

  protected override async store(seen: readonly Seen[], now: number): Promise<void> {
    const seenAt = new Date(now).toISOString();
    for (const group of Map.groupBy(seen, ({ holder, target }) => JSON.stringify([holder, target])).values()) {
      const { holder, target } = group[0]!;
      const hosts = [...Map.groupBy(group, ({ id }) => id).values()].map(newestOf);
      for (let start = 0; start < hosts.length; start += BATCH)
        await seeHosts(this.#db, { holder, target }, hosts.slice(start, start + BATCH), seenAt).catch(() => undefined);
    }
  }
}

/**
 * Joins what was noted of one host meanwhile: it may have taken over another root or agent, and its stream of hints,
 * which says neither, may have opened after its poll.
 */
const newestOf = (notes: readonly Seen[]): Seen => ({
  ...notes.at(-1)!,
  root: notes.findLast(({ root }) => root !== undefined)?.root,
  agent: notes.findLast(({ agent }) => agent !== undefined)?.agent,
  claim: notes.findLast(({ claim }) => claim !== undefined)?.claim,
});

/** Returns what a poll by a host's own key says of the host; undefined if it does not say what runs. */
function claimIn(headers: IncomingHttpHeaders, keyId: string): HostClaim | undefined {
  const running = claimedVersion(headers);
  return running === undefined ? undefined : { keyId, running, labels: claimedLabels(headers) };
}

/** Returns the version of the trust root that a host says it follows; undefined for none. */
export function followedRootIn(headers: IncomingHttpHeaders): RootMark | undefined {
  const given = headers[ROOT];
  return typeof given === "string" ? rootMarkIn(given) : undefined;
}

/** Host names by request headers: a poll needs its host several times. */
const named = new WeakMap<IncomingHttpHeaders, string | undefined>();

/** Returns the host that a request names, if it does. */
export function hostOf(headers: IncomingHttpHeaders): string | undefined {
  if (named.has(headers)) return named.get(headers);
  const host = hostIn(headers[HEADER]);
  named.set(headers, host);
  return host;
}

function hostIn(given: string | string[] | undefined): string | undefined {
  if (typeof given !== "string" || given.length > 1024) return undefined;
  try {
    return hostId.safeParse(decodeURIComponent(given)).data;
  } catch {
    return undefined;
  }
}
