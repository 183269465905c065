import { usageError } from "../contract/errors.ts";
import type { FleetEntry, HostMatch } from "../contract/files/fleet.ts";
import { labelsText } from "../contract/labels.ts";
import { closestTo } from "../support/suggestion.ts";
import type { Fleet } from "./fleet-file.ts";
import type { Enrolled } from "./roll.ts";

/** Hosts to which the same entries of a fleet.yaml apply. */
export interface MatchedHosts {
  hosts: Enrolled[];
  /** Entries in their order, with their places in the file. */
  entries: { at: number; entry: FleetEntry }[];
}

/** Entry that applies to no host. */
export interface IdleEntry {
  /** Remark on it, without a full stop. */
  text: string;
  /** Settings that it gives, as `web.NAME`. */
  names: string[];
}

type Facts = Pick<Enrolled, "name" | "labels" | "named">;

/** Tells whether an entry applies to a host: it has all of the labels, and one of the names. */
export function applies({ hosts, ...labels }: HostMatch, host: Facts): boolean {
  if (hosts !== undefined && !(host.named && hosts.includes(host.name))) return false;
  return Object.entries(labels as Record<string, string>).every(([name, value]) => host.labels[name] === value);
}

const meant = (word: string, known: Iterable<string>): string => {
  const found = closestTo(word, known);
  return found === undefined ? "" : `; did you mean ${found}?`;
};

/** Finds words that fit no host. */
function faultsIn(settings: readonly FleetEntry[], hosts: readonly Facts[]): string[] {
  const byName = new Map(hosts.map((host) => [host.name, host]));
  const labelNames = new Set(hosts.flatMap(({ labels }) => Object.keys(labels)));
  return settings.flatMap(({ match: { hosts: names = [], ...labels } }, index) => {
    const at = `settings.${index}.match`;
    const unknown = Object.keys(labels)
      .filter((label) => !labelNames.has(label))
      .map((label) => `${at}.${label}: no host has such a label${meant(label, labelNames)}`);
    const strangers = names.flatMap((name) => {
      const host = byName.get(name);
      if (host === undefined) return [`${at}.hosts: no host is called ${name}${meant(name, byName.keys())}`];
      if (host.named) return [];
      return [
        `${at}.hosts: ${name} came with an invite for several hosts, any of which may have taken the name; ` +
          `\`sealift settings accept ${name} LINE\` takes the line that \`sealift host key\` prints there`,
      ];
    });
    return [...unknown, ...strangers];
  });
}

/** Describes the hosts that an entry is for. */
export function matchText({ hosts, ...labels }: HostMatch): string {
  const words = [labelsText(labels as Record<string, string>), ...(hosts ?? [])].filter((word) => word !== "");
  return words.length === 0 ? "all hosts" : words.join(", ");
}

/**
 * Groups hosts by the entries that apply to them.
 *
 * @returns the groups, and the entries that apply to no host
 * @throws UsageError `config_invalid` for labels and names that no host has
 */
export function matchedHosts(
  { file, settings }: Pick<Fleet, "file" | "settings">,
  hosts: readonly Enrolled[],
): { groups: MatchedHosts[]; idle: IdleEntry[] } {
  const faults = faultsIn(settings, hosts);
  if (faults.length > 0)
    throw usageError("config_invalid", `${file} is not valid: ${faults.join("; ")}`, {
      faults,
      hint: "`sealift settings show` lists hosts with their labels.",
    });
  const groups = new Map<string, MatchedHosts>();
  const used = new Set<number>();
  for (const host of hosts) {
    const entries = settings.flatMap((entry, at) => (applies(entry.match, host) ? [{ at, entry }] : []));
    for (const { at } of entries) used.add(at);
    const key = entries.map(({ at }) => at).join(",");
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { entries, hosts: [host] });
    else group.hosts.push(host);
  }
  const idle = settings.flatMap((entry, at) => {
    const names = Object.entries(entry.apps).flatMap(([id, values]) =>
      Object.keys(values).map((name) => `${id}.${name}`),
    );
    return used.has(at) ? [] : [{ text: idleText(entry, at, hosts), names }];
  });
  return { groups: [...groups.values()], idle };
}

function idleText({ match: { hosts: _names, ...labels } }: FleetEntry, at: number, hosts: readonly Facts[]): string {
  const hints = Object.entries(labels as Record<string, string>).flatMap(([label, value]) => {
    const values = new Set(hosts.flatMap((host) => host.labels[label] ?? []));
    return values.has(value) ? [] : [`no host has ${label}=${value}${meant(value, values)}`];
  });
  return `settings.${at} applies to no host${hints.length === 0 ? "" : `: ${hints.join("; ")}`}`;
}
