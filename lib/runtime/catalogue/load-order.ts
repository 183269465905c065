import inRange from "semver/functions/satisfies.js";
import valid from "semver/functions/valid.js";
import type { Descriptor } from "../../contract/files/descriptor.ts";
import { RuntimeFault } from "../guest/fault.ts";

type Loadable = Pick<Descriptor, "name" | "version" | "requires">;

export interface LoadOrder {
  /** Waves of plugins, in order: plugins of one wave may load at the same time, and need only earlier waves. */
  waves: string[][];
  /** Plugins that can never load. The others do not wait for them. */
  failed: Map<string, RuntimeFault>;
}

/** Tells whether a version is in a range; labels that are not semver satisfy only `*` and themselves. */
export function satisfies(version: string, range: string): boolean {
  if (range === "*" || range === version) return true;
  return valid(version) !== null && inRange(version, range, { includePrerelease: true });
}

/** Returns why the requirements do not hold with the given plugins; undefined if they do. */
export function missingRequirement(
  { name, requires }: Loadable,
  versionOf: (name: string) => string | undefined,
): RuntimeFault | undefined {
  for (const { name: required, version: range } of requires) {
    const version = versionOf(required);
    if (version === undefined) {
      return new RuntimeFault("requirement_missing", `${name} requires ${required}, which is not there or has failed.`);
    }
    if (!satisfies(version, range)) {
      const message = `${name} requires ${required} in version ${range}, and ${version} is there.`;
      return new RuntimeFault("requirement_missing", message);
    }
  }
  return undefined;
}

/**
 * Orders plugins by `requires`. A missing requirement or a cycle fails only the plugins concerned and those that need
 * them.
 */
export function loadOrder(plugins: readonly Loadable[]): LoadOrder {
  const failed = new Map<string, RuntimeFault>();
  const waiting = new Map(plugins.map((plugin) => [plugin.name, plugin]));
  const placed = new Map<string, string>();
  const waves: string[][] = [];
  // Plugins whose requirements can never be met, and then all that wait for them.
  for (let changed = true; changed;) {
    changed = false;
    for (const plugin of [...waiting.values()]) {
      const fault = missingRequirement(plugin, (name) => waiting.get(name)?.version);
      if (fault === undefined) continue;
      failed.set(plugin.name, fault);
      waiting.delete(plugin.name);
      changed = true;
    }
  }
  while (waiting.size > 0) {
    const wave = [...waiting.values()].filter(({ requires }) => requires.every(({ name }) => placed.has(name)));
    if (wave.length === 0) break;
    for (const { name, version } of wave) {
      placed.set(name, version);
      waiting.delete(name);
    }
    waves.push(wave.map(({ name }) => name));
  }
  for (const { name, requires } of waiting.values()) {
    const others = requires.map((requirement) => requirement.name).filter((required) => waiting.has(required));
    const message = `${name} is part of, or waits for, a circle of requirements: ${name} → ${others.join(", ")} → …`;
    failed.set(name, new RuntimeFault("requirement_cycle", message));
  }
  return { waves, failed };
}
