import { existsSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { z } from "zod";
import { realRoot } from "../lib/agent/watch/deployment-queue.ts";
import type { WatchTarget } from "../lib/agent/watch/target.ts";
import type { FleetTarget } from "../lib/client/fleet.ts";
import { EXIT } from "../lib/contract/codes.ts";
import { asSealiftError, type SealiftError, usageError } from "../lib/contract/errors.ts";
import { WATCH_PATHS, type WatchConfig, watchConfig, type WatchEntry } from "../lib/contract/watch-config.ts";
import { type Item, layoutOf } from "../lib/releases/layout.ts";
import { currentRelease } from "../lib/releases/release.ts";
import type { Flags, Settings } from "../lib/support/settings.ts";
import { faultsOf, readYamlFile } from "../lib/support/yaml-file.ts";
import type { DeployTarget } from "./deploy-targets.ts";
import { parseTarget } from "./fleet.ts";

/** A target with what the dashboard needs beside the loop: whose fleet to read, and how. */
export interface WatchedDefinition extends WatchTarget {
  fleet: { target: FleetTarget; connection: DeployTarget["connection"] };
}

/** Milliseconds between two checks, when nothing else is said. */
const DEFAULT_INTERVAL_MS = 60_000;

/** What a watch.yaml says. */
export interface WatchFile {
  targets: WatchEntry[];
  /** Options that the targets share. */
  shared: Omit<WatchConfig, "targets">;
  /** Faults that leave the rest readable, so that they can be told together with its faults. */
  unknownKeys: string[];
}

/** Reads watch.yaml; relative paths in it start at its folder. @throws UsageError `config_invalid` with every fault but unknown keys */
export async function readWatchConfig(file: string): Promise<WatchFile> {
  const folder = dirname(resolve(file));
  const located = <T extends object>(options: T): T =>
    Object.fromEntries(
      Object.entries(options).map(([key, value]) => {
        if (typeof value !== "string") return [key, value as unknown];
        if (WATCH_PATHS.has(key)) return [key, resolve(folder, value)];
        // A key may be written out or stand in a file.
        const keyFile = key === "signer_public_key" ? resolve(folder, value) : undefined;
        return [key, keyFile !== undefined && existsSync(keyFile) ? keyFile : value];
      }),
    ) as T;
  const [{ targets, ...shared }, unknownKeys] = withoutUnknownKeys(await readYamlFile(file, z.unknown()), file);
  return { shared: located(shared), targets: targets.map(located), unknownKeys };
}

type Keyed = Record<PropertyKey, unknown>;

/** @throws UsageError `config_invalid` when there is more wrong than unknown keys */
function withoutUnknownKeys(value: unknown, file: string): [WatchConfig, unknownKeys: string[]] {
  const parsed = watchConfig.safeParse(value);
  if (parsed.success) return [parsed.data, []];
  const faults = faultsOf(parsed.error);
  for (const issue of parsed.error.issues) {
    if (issue.code !== "unrecognized_keys")
      throw usageError("config_invalid", `${file} is not valid: ${faults.join("; ")}`, { faults });
    const holder = issue.path.reduce<Keyed>((at, key) => at[key] as Keyed, value as Keyed);
    for (const key of issue.keys) delete holder[key];
  }
  return [watchConfig.parse(value), faults];
}

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
  await checkNeighbours(neighbours, faults);
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
    import("../lib/agent/watch/target.ts"),
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

interface Neighbour {
  name: string;
  target: FleetTarget;
  /** Without links. */
  root: string;
}

/** One target twice in a project root, and two targets that install one id there, as far as it can be known before a download. */
async function checkNeighbours(targets: readonly Neighbour[], faults: WatchFaults): Promise<void> {
  const owners = new Map<string, string>();
  const seen = new Set<string>();
  for (const { name, target, root } of targets) {
    if (seen.has(`${root} ${name}`)) {
      faults.add(usageError("config_invalid", `${name} is given twice for the project root ${root}.`));
      continue;
    }
    seen.add(`${root} ${name}`);
    for (const { section, id } of await itemsOf(target, root)) {
      const place = `${root}/${section}/${id}`;
      const owner = owners.get(place);
      if (owner !== undefined && owner !== name) {
        faults.add(usageError("config_invalid", `${name} and ${owner} both install ${section}/${id} in ${root}.`));
      }
      owners.set(place, name);
    }
  }
}

/** What a target installs: of a marketplace target its slug, of a project what it has installed already. */
async function itemsOf({ kind, slug }: FleetTarget, root: string): Promise<readonly Item[]> {
  if (kind === "plugin") return [{ section: "plugins", id: slug }];
  if (kind === "service") return [{ section: "extensions", id: slug }];
  return (await currentRelease(layoutOf(root), `project-${slug}`))?.items ?? [];
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

/** Targets that one message names; of more it says how many. */
const NAMED_TARGETS = 3;

/** Faults of many targets, told at once; what several have in common is said once. */
class WatchFaults {
  readonly #found = new Map<string, { error: SealiftError; targets: Set<string> }>();

  /** @throws error when it is none of what was given */
  add(error: SealiftError, target?: string): void {
    if (error.exitCode !== EXIT.usage) throw error;
    const found = this.#found.get(error.message) ?? { error, targets: new Set() };
    if (target !== undefined) found.targets.add(target);
    this.#found.set(error.message, found);
  }

  attempt(target: string, task: () => unknown): void {
    try {
      task();
    } catch (thrown) {
      this.add(asSealiftError(thrown), target);
    }
  }

  /** @throws UsageError with the code that all have in common, else `config_invalid` */
  throwIfAny(): void {
    const found = [...this.#found.values()];
    const [first, ...others] = found;
    if (first === undefined) return;
    const messages = found.map(({ error, targets }) => `${prefixOf([...targets])}${error.message}`);
    const { code, hint } = first.error;
    if (others.length === 0) throw usageError(code, messages[0]!, first.error);
    throw usageError(
      others.every(({ error }) => error.code === code) ? code : "config_invalid",
      `${found.length} faults, and nothing was started:\n${messages.map((message) => `  - ${message}`).join("\n")}`,
      { faults: messages, ...(others.every(({ error }) => error.hint === hint) && hint !== undefined && { hint }) },
    );
  }
}

function prefixOf(targets: readonly string[]): string {
  if (targets.length === 0) return "";
  const rest = targets.length - NAMED_TARGETS;
  return `${targets.slice(0, NAMED_TARGETS).join(", ")}${rest > 0 ? ` and ${rest} more` : ""}: `;
}
