import { resolve } from "node:path";
import type { SettingsSource } from "../../lib/agent/settings/follow.ts";
import type { LogSource } from "../../lib/agent/supervisors/logs.ts";
import { realRoot } from "../../lib/agent/watch/deployment-queue.ts";
import { WatchFaults } from "../../lib/agent/watch/faults.ts";
import { type Neighbour, neighbourFaults } from "../../lib/agent/watch/shared-ids.ts";
import type { WatchTarget } from "../../lib/agent/watch/target.ts";
import type { HubConnection } from "../../lib/client/hub-connection.ts";
import { RateLimit } from "../../lib/client/rate-limit.ts";
import { asSealiftError, usageError } from "../../lib/contract/errors.ts";
import { baseUrl } from "../../lib/contract/surfaces/paths.ts";
import { parseTarget, type Target, targetName, targetText } from "../../lib/contract/target.ts";
import { fileLayer, type Layer } from "../../lib/options/layers.ts";
import { type Values, yamlKeyOf } from "../../lib/options/option.ts";
import { plainValue, resolveOptions, singleFaults } from "../../lib/options/resolve.ts";
import { targetOptions } from "../../lib/options/watch.ts";
import type { WatchEntry } from "../../lib/options/watch-file.ts";
import { layoutOf } from "../../lib/releases/layout.ts";

/** Watched target, with what its dashboard needs: the fleet, the connection to read it, and the log. */
export interface WatchedDefinition extends WatchTarget {
  /** Undefined for a target whose versions come on a stick. */
  fleet: { target: Target; connection: HubConnection } | undefined;
  /** Returns the programs that print its log. @param lines of each unit to begin with */
  log: (lines: number) => Promise<LogSource[]>;
}

/**
 * Returns everything that a watch needs to know of its targets, checked as a whole before any request: credentials,
 * plans, and which target installs what where.
 *
 * @param layers where options are given that the targets share; those of a target override them
 * @param unknownKeys faults of the file that the entries come from
 * @param instance random name of this watch, if it continues; one for all of its targets
 * @throws UsageError with every fault of every target
 */
export async function watchTargets(
  entries: readonly WatchEntry[],
  layers: readonly Layer[],
  unknownKeys: readonly string[] = [],
  instance?: string,
): Promise<WatchedDefinition[]> {
  const faults = new WatchFaults();
  for (const key of unknownKeys) faults.add(usageError("config_invalid", key));
  const found: WatchedDefinition[] = [];
  const neighbours: Neighbour[] = [];
  const rateLimit = await sharedLimit(layers).catch(() => undefined);
  for (const entry of entries) {
    const own = [fileLayer(entry.options, "watch.yaml"), ...layers];
    try {
      const target = parseTarget(entry.target);
      const projectRoot = plainValue(targetOptions.project.projectRoot, own)!;
      neighbours.push({ name: entry.target, target, root: await realRoot(projectRoot) });
      const shared = OWN_RATE in entry.options ? {} : { rateLimit };
      found.push(await watchTarget(entry.target, target, own, { instance, ...shared }));
    } catch (thrown) {
      for (const fault of singleFaults(asSealiftError(thrown))) faults.add(fault, entry.target);
    }
  }
  for (const fault of await neighbourFaults(neighbours)) faults.add(fault);
  faults.throwIfAny();
  return named(found);
}

/** Key of a target in watch.yaml that bounds its own downloads. */
const OWN_RATE = yamlKeyOf(targetOptions.project.maxRate.name);

/** Facts that the targets of a watch share. */
interface OfWatch {
  instance?: string | undefined;
  /** Bound of the downloads of all targets together, but of those with a rate of their own. */
  rateLimit?: RateLimit | undefined;
}

/** Returns the bound that all targets share. @throws UsageError */
async function sharedLimit(layers: readonly Layer[]): Promise<RateLimit | undefined> {
  const { maxRate } = await resolveOptions({ maxRate: targetOptions.project.maxRate }, layers);
  return maxRate === undefined ? undefined : new RateLimit(maxRate);
}

async function watchTarget(
  name: string,
  target: Target,
  layers: readonly Layer[],
  ofWatch: OfWatch,
): Promise<WatchedDefinition> {
  const { values, deployed, connection, poll, settings } = await followed(target, layers, ofWatch);
  const { source } = deployed;
  const awaitsSettings = (settings?.operators.length ?? 0) > 0;
  const options = awaitsSettings ? { ...deployed.options, awaitsSettings } : deployed.options;
  await source("latest").precheck?.(options.supervisor.name);
  const { intervalMs, fetchAhead, hints } = values;
  return {
    ...{ name, intervalMs, fetchAhead, source, options, poll, settings },
    hub: connection === undefined ? `kit ${values.kitSource!}` : baseUrl(connection.hubUrl),
    fleet: connection && { target, connection },
    hints: hints && connection !== undefined ? { target: targetText(target), connection } : undefined,
    log: (lines: number) => followedLog(target, lines, values),
  };
}

/** Reads the options of a target, and determines how it is deployed and polled. */
async function followed({ kind, slug }: Target, layers: readonly Layer[], { instance, rateLimit }: OfWatch) {
  const [{ marketplaceTarget, projectTarget }, { marketplacePoll, projectPoll }] = await Promise.all([
    import("./deploy-targets.ts"),
    import("../../lib/agent/watch/target.ts"),
  ]);
  const asking = instance === undefined ? {} : { instance };
  const { kitSource } = targetOptions.project;
  if (plainValue(kitSource, layers) !== undefined) return followedKit({ kind, slug }, layers);
  if (kind === "project") {
    const values = await resolveOptions(targetOptions.project, layers);
    const deployed = await projectTarget({ ...values, rateLimit }, slug, layers);
    const connection = { ...deployed.connection, ...asking };
    const settings = await settingsSource(slug, values, connection);
    return { values, deployed, connection, settings, poll: projectPoll(slug, connection) };
  }
  const values = await resolveOptions(targetOptions.marketplace, layers);
  const deployed = await marketplaceTarget({ ...values, rateLimit }, kind, slug, layers);
  const connection = { ...deployed.connection, ...asking };
  return { values, deployed, connection, settings: undefined, poll: marketplacePoll(kind, slug, connection) };
}

/** Adds the folder of the kit. @throws UsageError `usage` without the host's key */
function keyed<T extends { kitSource: string | undefined; hostKey: string | undefined }>(values: T) {
  if (values.hostKey !== undefined) return { ...values, from: values.kitSource };
  throw usageError("usage", "A kit is sealed to a host, and --host-key-file is missing.", {
    hint: "`sealift host key` makes the key, and says what to write beside it.",
  });
}

/** Reads the options of a target whose versions come on a stick. No hub is asked, and none has settings for it. */
async function followedKit({ kind, slug }: Target, layers: readonly Layer[]) {
  const [{ marketplaceKitTarget, projectKitTarget }, { kitPoll }] = await Promise.all([
    import("./kit-target.ts"),
    import("../../lib/agent/watch/kit-poll.ts"),
  ]);
  const read = async () => {
    if (kind === "project") {
      const values = await resolveOptions(targetOptions.project, layers);
      return { values, deployed: await projectKitTarget(keyed(values), slug, layers) };
    }
    const values = await resolveOptions(targetOptions.marketplace, layers);
    return { values, deployed: await marketplaceKitTarget(keyed(values), kind, slug, layers) };
  };
  const { values, deployed } = await read();
  const poll = kitPoll(deployed.kit, { kind, slug }, values.projectRoot);
  return { values: { ...values, fetchAhead: false }, deployed, connection: undefined, settings: undefined, poll };
}

/**
 * Returns where a project's target takes settings of the fleet from; undefined for a host without a key for them.
 *
 * @throws UsageError `usage`, `key_file_invalid`, `config_invalid`
 */
async function settingsSource(
  project: string,
  {
    operators: given,
    hostKey,
    hostCard,
  }: Pick<Values<typeof targetOptions.project>, "operators" | "hostKey" | "hostCard">,
  connection: HubConnection,
): Promise<SettingsSource | undefined> {
  if (hostKey === undefined) {
    if (given === undefined) return undefined;
    throw usageError("usage", "An operator is named, and this host has no key to which settings could be sealed.", {
      hint: "`sealift host key` makes one, and says what to write beside it.",
    });
  }
  const [{ hostKeyIn }, { OwnSettingsClient }, { pinnedOperators, readHostCard }] = await Promise.all([
    import("../../lib/agent/joining/host-key-file.ts"),
    import("../../lib/client/settings.ts"),
    import("./pinned-operators.ts"),
  ]);
  return {
    project,
    key: hostKeyIn(hostKey, "--host-key-file"),
    operators: await pinnedOperators(given),
    card: hostCard === undefined ? undefined : await readHostCard(hostCard),
    client: (signal) => new OwnSettingsClient({ ...connection, signal }, project),
  };
}

type SupervisorChoice = Pick<
  Values<typeof targetOptions.marketplace>,
  "projectRoot" | "supervisor" | "supervisorName" | "systemdScope"
>;

/** Returns the programs that print a target's log, as the supervisor that it is deployed with keeps it. */
async function followedLog(target: Target, lines: number, values: SupervisorChoice): Promise<LogSource[]> {
  const { targetLogs } = await import("../../lib/agent/supervisors/logs.ts");
  const { projectRoot, supervisor, supervisorName, systemdScope } = values;
  return targetLogs(layoutOf(resolve(projectRoot)), targetName(target), [], {
    ...{ supervisor, systemdScope, template: supervisorName },
    ...{ lines, follow: true },
  });
}

/** Makes names unique: a target that is watched in several project roots is named with its root. */
function named(targets: readonly WatchedDefinition[]): WatchedDefinition[] {
  const counts = new Map<string, number>();
  for (const { name } of targets) counts.set(name, (counts.get(name) ?? 0) + 1);
  return targets.map((target) =>
    counts.get(target.name) === 1
      ? target
      : { ...target, name: `${target.name}@${resolve(target.options.projectRoot)}` },
  );
}
