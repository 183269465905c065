import { usageError } from "../contract/errors.ts";
import type { ValueSource } from "../contract/files/fleet.ts";
import { MAX_APPLICATIONS, MAX_SETTINGS_BYTES } from "../contract/settings/limits.ts";
import { type Changes, changesBetween, contentId, type ValueDigest } from "./digests.ts";
import { type MatchedHosts, matchText } from "./matching.ts";
import type { Enrolled, Roll } from "./roll.ts";
import type { ValueSources } from "./sources.ts";

/** Bytes of a document beside its settings, signatures included. */
const OVERHEAD_BYTES = 1024;

type ByApp<T> = Record<string, Record<string, T>>;

/** Settings of a group of hosts. */
export interface Content {
  hosts: Enrolled[];
  apps: ByApp<string>;
  /** Digests of the values; undefined for that of a command that was not run. */
  digests: ByApp<string | undefined>;
  /** Name in the roll; undefined while the value of a command is not known. */
  id: string | undefined;
}

/** Hosts whose settings change alike. */
export interface ChangedHosts extends Changes {
  hosts: Enrolled[];
}

interface Place {
  source: Exclude<ValueSource, null>;
  at: string;
}

/** Returns the values that count for a group: later entries win, and null takes a name out. */
function placesOf({ entries }: Pick<MatchedHosts, "entries">): Map<string, Map<string, Place>> {
  const apps = new Map<string, Map<string, Place>>();
  for (const { at, entry } of entries)
    for (const [app, names] of Object.entries(entry.apps)) {
      const places = apps.get(app) ?? new Map<string, Place>();
      for (const [name, source] of Object.entries(names))
        if (source === null) places.delete(name);
        else places.set(name, { source, at: `settings.${at}.apps.${app}.${name}` });
      apps.set(app, places);
    }
  for (const [app, places] of apps) if (places.size === 0) apps.delete(app);
  return apps;
}

const recordOf = <T>(map: ReadonlyMap<string, ReadonlyMap<string, T>>): ByApp<T> =>
  Object.fromEntries(Array.from(map, ([key, inner]) => [key, Object.fromEntries(inner)]));

/**
 * Reads the settings of a group of hosts.
 *
 * @throws UsageError `settings_unreadable`, and `config_invalid` for more than one host takes
 */
export async function contentOf(group: MatchedHosts, sources: ValueSources, digest: ValueDigest): Promise<Content> {
  const places = placesOf(group);
  const values = new Map<string, Map<string, string>>();
  const digests = new Map<string, Map<string, string | undefined>>();
  let isWhole = true;
  for (const [app, names] of places) {
    const [own, ownDigests] = [new Map<string, string>(), new Map<string, string | undefined>()];
    for (const [name, { source, at }] of names) {
      const value = await sources.value(source, at);
      if (value === undefined) isWhole = false;
      else own.set(name, value);
      ownDigests.set(name, value === undefined ? undefined : digest(app, name, value));
    }
    values.set(app, own);
    digests.set(app, ownDigests);
  }
  const apps = recordOf(values);
  checkSize(apps, group);
  const table = recordOf(digests);
  return { hosts: group.hosts, apps, digests: table, id: isWhole ? contentId(table as ByApp<string>) : undefined };
}

function checkSize(apps: ByApp<string>, { hosts, entries }: MatchedHosts): void {
  const bytes = Buffer.byteLength(JSON.stringify(apps)) + OVERHEAD_BYTES;
  const isMany = Object.keys(apps).length > MAX_APPLICATIONS;
  if (bytes <= MAX_SETTINGS_BYTES && !isMany) return;
  const what = isMany
    ? `have ${Object.keys(apps).length} applications, and a host takes ${MAX_APPLICATIONS}`
    : `are ${bytes} bytes, and a host takes ${MAX_SETTINGS_BYTES}`;
  const matches = entries.map(({ entry }) => matchText(entry.match)).join("; ");
  throw usageError("config_invalid", `The settings of ${hosts[0]?.name ?? "no host"} (${matches}) ${what}.`, {
    hint: "Let large files travel with the version, and keep secrets and addresses here.",
  });
}

/** Groups the hosts of contents by what changes for them; hosts for whom nothing does are left out. */
export function changesOf(contents: readonly Content[], roll: Roll): ChangedHosts[] {
  const groups = contents.flatMap(({ hosts, digests }) => {
    const byFormer = Map.groupBy(hosts, ({ content }) => content);
    return Array.from(byFormer.values(), (alike) => ({
      hosts: alike,
      ...changesBetween(roll.contentOf(alike[0]!), digests),
    }));
  });
  return groups.filter(({ added, changed, removed }) => added.length + changed.length + removed.length > 0);
}
