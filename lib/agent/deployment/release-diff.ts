import { join } from "node:path";
import type { Application } from "../../contract/files/application.ts";
import type { Descriptor } from "../../contract/files/descriptor.ts";
import { HEALTH_SECONDS } from "../../contract/files/health-command.ts";
import type { InstallPlan } from "../../contract/files/install-plan.ts";
import { DESCRIPTOR_FILE, PLAN_FILE } from "../../contract/files/manifest.ts";
import { moreRights, rightsOf } from "../../contract/rights.ts";
import type { TargetName } from "../../contract/target.ts";
import { CONTENTS_FILE, type ListedFile, readContents } from "../../releases/contents.ts";
import type { Layout } from "../../releases/layout.ts";
import { isApplication } from "../../releases/layout.ts";
import { isAdopted, type Release } from "../../releases/release.ts";
import { REST_FOLDER } from "../../releases/source-folders.ts";
import { YAML_LIMITS } from "../../support/documents/limits.ts";
import { ifThere, readTextFile, statsOf } from "../../support/files.ts";
import type { Applications } from "../applications/descriptors.ts";
import { parseForeignPlan, readDescriptor } from "../base/documents.ts";

type Change = "added" | "removed" | "changed";

/** Difference between two releases or versions. Sizes are bytes, null on the side without such a file. */
export type Difference =
  | { what: "file"; change: Change; path: string; before: number | null; after: number | null }
  /** Right that a plugin has on one side only. */
  | { what: "right"; change: "added" | "removed"; plugin: string; right: string }
  /** Command of an application, null on the side without one. */
  | {
      what: "command";
      change: Change;
      app: string;
      key: "command" | "migrate" | "health.command";
      before: string | null;
      after: string | null;
    }
  /** Other key of an application's descriptor, such as `schedule`; null on the side without one. */
  | { what: "term"; change: Change; app: string; key: string; before: string | null; after: string | null }
  /** Step of the install plan, by id. */
  | { what: "step"; change: Change; id: string; action: string };

export type ListedFiles = Map<string, Pick<ListedFile, "size" | "sha256">>;

/** One side of a comparison. */
export interface Compared {
  files: ListedFiles;
  /** Descriptors by plugin id; empty if unknown. */
  descriptors: ReadonlyMap<string, Descriptor>;
  /** Descriptors of applications by their ids. */
  apps: Applications;
  plan: InstallPlan | undefined;
}

const NOTHING: Compared = { files: new Map(), descriptors: new Map(), apps: new Map(), plan: undefined };

/**
 * Compares two kept releases of a target: their files, their plugins' rights, and their install plans if any. Without a
 * first one, everything in the second is new.
 *
 * @param options `onlySent` leaves out files made on the host, such as by a provisioner, where that is known
 * @returns undefined when one of them has no list of its files, as adopted folders have none
 */
export async function releaseDifferences(
  layout: Layout,
  target: TargetName,
  [before, after]: readonly [Release | undefined, Release],
  { onlySent = false } = {},
): Promise<Difference[] | undefined> {
  const read = (release: Release): Promise<Compared | undefined> =>
    releaseAt(layout.release(target, release.name), release, onlySent);
  const [a, b] = await Promise.all([before === undefined ? NOTHING : read(before), read(after)]);
  return a === undefined || b === undefined ? undefined : differencesBetween(a, b);
}

/** Compares two sides: rights first, then commands and terms of applications, plan steps and files. */
export const differencesBetween = (before: Compared, after: Compared): Difference[] => [
  ...rightsBetween(before.descriptors, after.descriptors),
  ...commandsBetween(before.apps, after.apps),
  ...stepsBetween(before.plan, after.plan),
  ...filesBetween(before.files, after.files),
];

async function releaseAt(folder: string, release: Release, onlySent: boolean): Promise<Compared | undefined> {
  const files = await filesOf(folder, onlySent && release.source_folders !== undefined);
  if (files === undefined) return undefined;
  const plugins = release.items.flatMap(({ section, id }) => (section === "plugins" ? [id] : []));
  const folders = new Map(plugins.map((id) => [id, join(folder, "plugins", id)]));
  const apps = release.items.filter(isApplication).map(({ id }) => id);
  return {
    files,
    descriptors: await descriptorsIn(folders),
    apps: await applicationsIn(folder, isAdopted(release) ? [] : apps),
    plan: await planOf(folder),
  };
}

async function filesOf(folder: string, onlySource: boolean): Promise<ListedFiles | undefined> {
  if ((await statsOf(join(folder, CONTENTS_FILE))) === undefined) return undefined;
  const files: ListedFiles = new Map();
  for await (const line of readContents(folder)) {
    if (line === undefined) return undefined;
    if ("folder" in line || (onlySource && line.executable === undefined)) continue;
    // A file that a provisioner has changed is compared as the publisher sent it.
    files.set(line.path, line.source ?? { size: line.size, sha256: line.sha256 });
  }
  return files;
}

function filesBetween(before: ListedFiles, after: ListedFiles): Difference[] {
  const found: Difference[] = [];
  for (const path of [...new Set([...before.keys(), ...after.keys()])].toSorted()) {
    const [a, b] = [before.get(path), after.get(path)];
    if (a?.sha256 === b?.sha256) continue;
    found.push({ what: "file", change: changeOf(a, b), path, before: a?.size ?? null, after: b?.size ?? null });
  }
  return found;
}

const changeOf = (before: unknown, after: unknown): Change =>
  before === undefined ? "added" : after === undefined ? "removed" : "changed";

function rightsBetween(before: Compared["descriptors"], after: Compared["descriptors"]): Difference[] {
  return [...new Set([...before.keys(), ...after.keys()])].toSorted().flatMap((plugin) => {
    const [a, b] = [before.get(plugin), after.get(plugin)];
    const more = (from: Descriptor | undefined, to: Descriptor | undefined): string[] =>
      to === undefined ? [] : from === undefined ? rightsOf(to) : moreRights(from, to);
    const rightChanges = (change: "added" | "removed", rights: string[]): Difference[] =>
      rights.map((right) => ({ what: "right", change, plugin, right }));
    return [...rightChanges("removed", more(b, a)), ...rightChanges("added", more(a, b))];
  });
}

function commandsBetween(before: Applications, after: Applications): Difference[] {
  const found: Difference[] = [];
  for (const app of [...new Set([...before.keys(), ...after.keys()])].toSorted())
    for (const what of ["command", "term"] as const) {
      const [a, b] = [before.get(app), after.get(app)].map((one) =>
        what === "command" ? commandsOf(one) : termsOf(one),
      );
      for (const key of [...new Set([...a!.keys(), ...b!.keys()])]) {
        const [was, is] = [a!.get(key), b!.get(key)];
        if (was === is) continue;
        const sides = { change: changeOf(was, is), app, before: was ?? null, after: is ?? null };
        found.push(what === "command" ? { what, key: key as CommandKey, ...sides } : { what, key, ...sides });
      }
    }
  return found;
}

type CommandKey = Extract<Difference, { what: "command" }>["key"];

/** Returns the commands of an application, each as JSON. */
function commandsOf(app: Application | undefined): Map<string, string> {
  const commands: Record<CommandKey, readonly string[] | undefined> = {
    ...{ command: app?.command, migrate: app?.migrate, "health.command": app?.health.command },
  };
  return new Map(
    Object.entries(commands).flatMap(([key, words]) => (words === undefined ? [] : [[key, JSON.stringify(words)]])),
  );
}

/** Returns the other fields of an application's descriptor that change how or when it runs. Leaves out defaults. */
function termsOf(app: Application | undefined): Map<string, string> {
  if (app === undefined) return new Map();
  const { of, schedule, timezone, catch_up: catchUp, within, limits, health, listen, ports, data } = app;
  const terms: Record<string, string | number | boolean | undefined> = {
    ...{ of, schedule, timezone, catch_up: catchUp || undefined, within, data },
    ...{ "health.http": health.http, "health.port": health.port },
    "health.within": health.within === HEALTH_SECONDS.within ? undefined : health.within,
    "health.stays_up": health.stays_up === HEALTH_SECONDS.stays_up ? undefined : health.stays_up,
    ...Object.fromEntries(Object.entries(limits ?? {}).map(([name, value]) => [`limits.${name}`, value])),
    listen: listen.join(", ") || undefined,
    ports: ports.join(", ") || undefined,
  };
  return new Map(Object.entries(terms).flatMap(([key, value]) => (value === undefined ? [] : [[key, String(value)]])));
}

/** Reads the descriptors of applications, if there are any. @throws ArtifactError `app_invalid` */
export async function applicationsIn(folder: string, ids: readonly string[]): Promise<Applications> {
  if (ids.length === 0) return new Map();
  const { descriptorsIn: read } = await import("../applications/descriptors.ts");
  return read(folder, ids);
}

/** Reads the descriptors of plugins. @param folders by the plugins' ids */
export async function descriptorsIn(folders: ReadonlyMap<string, string>): Promise<Map<string, Descriptor>> {
  const found = new Map<string, Descriptor>();
  for (const [id, folder] of folders)
    if ((await statsOf(join(folder, DESCRIPTOR_FILE))) !== undefined) found.set(id, await readDescriptor(folder));
  return found;
}

async function planOf(folder: string): Promise<InstallPlan | undefined> {
  const file = join(folder, REST_FOLDER, PLAN_FILE);
  const text = await ifThere(readTextFile(file, YAML_LIMITS.maxBytes));
  return text === undefined ? undefined : await parseForeignPlan(text, file);
}

function stepsBetween(before: InstallPlan | undefined, after: InstallPlan | undefined): Difference[] {
  const [a, b] = [before, after].map((plan) => new Map((plan?.steps ?? []).map((step) => [step.id, step])));
  const found: Difference[] = [];
  for (const id of new Set([...a!.keys(), ...b!.keys()])) {
    const [was, is] = [a!.get(id), b!.get(id)];
    if (JSON.stringify(was) === JSON.stringify(is)) continue;
    found.push({ what: "step", change: changeOf(was, is), id, action: (is ?? was)!.action });
  }
  return found;
}
