import { resolve } from "node:path";
import { realRoot } from "../../lib/agent/watch/deployment-queue.ts";
import { WatchFaults } from "../../lib/agent/watch/faults.ts";
import { type Neighbour, neighbourFaults } from "../../lib/agent/watch/shared-ids.ts";
import type { WatchTarget } from "../../lib/agent/watch/target.ts";
import type { FleetTarget } from "../../lib/client/fleet.ts";
import { asSealiftError, usageError } from "../../lib/contract/errors.ts";
import type { WatchEntry } from "../../lib/contract/files/watch.ts";
import type { Flags, Settings } from "../../lib/support/settings.ts";
import type { DeployTarget } from "./deploy-targets.ts";
import { parseTarget } from "./fleet.ts";

/** A target with what the dashboard needs beside the loop: whose fleet to read, and how. */
export interface WatchedDefinition extends WatchTarget {
  fleet: { target: FleetTarget; connection: DeployTarget["connection"] };
}

/** Milliseconds between two checks, when nothing else is said. */
const DEFAULT_INTERVAL_MS = 60_000;

/** What one target's own options are called on the command line. */
function flagsOf({ target: _target, ...options }: WatchEntry): Flags {
  return Object.fromEntries(Object.entries(options).map(([key, value]) => [key.replaceAll("_", "-"), value]));
}

/**
 * Everything that a watch needs to know of its targets, checked as a whole before anything is requested: credentials, plans, and who installs
 * what where.
 *
 * @param unknownKeys faults of the file that the entries come from
 * @throws UsageError with every fault of every target
 */
export async function watchTargets(
  entries: readonly WatchEntry[],
  settings: Settings,
  unknownKeys: readonly string[] = [],
): Promise<WatchedDefinition[]> {
  const faults = new WatchFaults();
  for (const key of unknownKeys) faults.add(usageError("config_invalid", key));
  const found: WatchedDefinition[] = [];
  const neighbours: Neighbour[] = [];
  for (const entry of entries) {
    const own = settings.with(flagsOf(entry));
    try {
      const target = parseTarget(entry.target);
      neighbours.push({ name: entry.target, target, root: await realRoot(own.text("project-root") ?? ".") });
      // All of them: the target itself ends at the first one.
      for (const option of SECRETS[target.kind]) faults.attempt(entry.target, () => own.secret(option));
      found.push(await watchTarget(entry.target, target, own));
    } catch (thrown) {
      faults.add(asSealiftError(thrown), entry.target);
    }
  }
  for (const fault of await neighbourFaults(neighbours)) faults.add(fault);
  faults.throwIfAny();
  return named(found);
}

const SECRETS = {
  project: ["api-key", "deployment-credential", "signing-secret", "plugin-secret-key"],
  plugin: ["api-key", "signing-secret", "plugin-secret-key"],
  service: ["api-key", "signing-secret", "plugin-secret-key"],
} as const;

async function watchTarget(name: string, fleetTarget: FleetTarget, settings: Settings): Promise<WatchedDefinition> {
  const [{ marketplaceTarget, projectTarget }, { marketplacePoll, projectPoll }] = await Promise.all([
    import("./deploy-targets.ts"),
    import("../../lib/agent/watch/target.ts"),
  ]);
  const { kind, slug } = fleetTarget;
  const intervalMs = settings.duration("interval", DEFAULT_INTERVAL_MS);
  if (intervalMs < 1000) throw usageError("usage", "--interval must be a second or longer.");
  const target =
    kind === "project" ? await projectTarget(settings, slug) : await marketplaceTarget(settings, kind, slug);
  const { source, options, connection } = target;
  await source("latest").precheck?.(options.supervisor.name);
  return {
    name,
    intervalMs,
    source,
    options,
    poll: kind === "project" ? projectPoll(slug, connection) : marketplacePoll(kind, slug, connection),
    fleet: { target: fleetTarget, connection },
  };
}

/** Names stay unique: a target that is watched in several project roots is named with its root. */
function named(targets: readonly WatchedDefinition[]): WatchedDefinition[] {
  const counts = new Map<string, number>();
  for (const { name } of targets) counts.set(name, (counts.get(name) ?? 0) + 1);
  return targets.map((target) =>
    counts.get(target.name) === 1
      ? target
      : { ...target, name: `${target.name}@${resolve(target.options.projectRoot)}` },
  );
}
