import { DEFAULT_RATE_LIMIT, type Descriptor } from "./files/descriptor.ts";
import type { HostRule } from "./files/host-rule.ts";

/** The rights of a plugin, as lines that people read and that two releases can be compared by. */

export function hostText({ host, wildcard, port }: HostRule): string {
  return `${wildcard ? "*." : ""}${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** Returns the rate limit of a plugin; a trusted one that states none has no limit. */
const rateLimitOf = ({ resources, execution_mode }: Descriptor) =>
  resources.rate_limit ?? (execution_mode === "trusted" ? undefined : DEFAULT_RATE_LIMIT);

const rateText = ({ calls, period_seconds }: { calls: number; period_seconds: number }): string =>
  `${calls} in ${period_seconds} s`;

const VARIABLE = "environment: ";
/** True for the line of an environment variable. */
export const isVariable = (right: string): boolean => right.startsWith(VARIABLE);

/** Returns the rights that a descriptor requests, one line each. */
export function rightsOf(descriptor: Descriptor): string[] {
  const { execution_mode, permissions, network, environment, filesystem, resources } = descriptor;
  const limit = rateLimitOf(descriptor);
  const hosts = network === true ? ["all"] : network === false ? [] : network.map(hostText);
  return [
    ...(execution_mode === "trusted" ? ["trusted: runs in the runtime's process and can do whatever it can"] : []),
    ...hosts.map((host) => `network: ${host}`),
    ...permissions
      .filter(({ effect }) => effect === "allow")
      .flatMap(({ resource, actions }) => actions.map((action) => `${resource}: ${action}`)),
    ...[...environment.required, ...environment.optional].map((name) => `${VARIABLE}${name}`),
    ...filesystem.allowed_paths.filter((path) => path.replace(/\/$/, "") !== "data").map((path) => `writes: ${path}`),
    `memory: ${resources.max_memory_mb} MB`,
    `disk: ${resources.max_disk_mb} MB`,
    `time of a call: ${resources.timeout_seconds} s`,
    ...(limit === undefined ? [] : [`calls: ${rateText(limit)}`]),
    ...(resources.cpu_percent === undefined ? [] : [`processor: ${resources.cpu_percent} % of one core`]),
  ];
}

/** Returns the rules of a descriptor that deny, one line each. */
const denialsOf = ({ permissions }: Descriptor): string[] =>
  permissions
    .filter(({ effect }) => effect === "deny")
    .flatMap(({ resource, actions }) => actions.map((action) => `${resource}: ${action}`));

const LIMITS = ["max_memory_mb", "max_disk_mb", "timeout_seconds"] as const;
const LIMIT_LINES = /^(memory|disk|time of a call|calls|processor): /;

/**
 * Returns the rights that `after` requests and `before` does not, one line each. A rule that is merely written
 * differently counts as more: a person decides.
 */
export function moreRights(before: Descriptor, after: Descriptor): string[] {
  const had = new Set(rightsOf(before));
  const stillDenied = new Set(denialsOf(after));
  const hadAll = before.network === true;
  const lines = rightsOf(after).filter((right) => !LIMIT_LINES.test(right) && !had.has(right));
  return [
    ...lines.filter((right) => !(hadAll && right.startsWith("network: "))),
    ...denialsOf(before)
      .filter((denial) => !stillDenied.has(denial))
      .map((denial) => `no longer denied: ${denial}`),
    ...LIMITS.filter((name) => after.resources[name] > before.resources[name]).map(
      (name) => `${name}: ${after.resources[name]} instead of ${before.resources[name]}`,
    ),
    ...moreCalls(before, after),
    ...moreProcessor(before.resources.cpu_percent, after.resources.cpu_percent),
  ];
}

/**
 * Tells whether a plugin may make more calls, at once or in the long run. A trusted plugin without a limit is not
 * limited anyway.
 */
function moreCalls(before: Descriptor, after: Descriptor): string[] {
  const [had, asked] = [rateLimitOf(before), rateLimitOf(after)];
  if (had === undefined || asked === undefined) return [];
  const isMore = asked.calls > had.calls || asked.calls / asked.period_seconds > had.calls / had.period_seconds;
  return isMore ? [`rate_limit: ${rateText(asked)} instead of ${rateText(had)}`] : [];
}

/** Tells whether a plugin may use more of the processor; one that states no limit gets the operator's. */
function moreProcessor(before: number | undefined, after: number | undefined): string[] {
  if (before === undefined || (after !== undefined && after <= before)) return [];
  return [`cpu_percent: ${after ?? "the operator's limit"} instead of ${before}`];
}
