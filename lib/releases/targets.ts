import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { missing } from "../support/files.ts";
import type { Layout, Target } from "./layout.ts";

const TARGET = /^(?:project|plugin|service)-[A-Za-z0-9][A-Za-z0-9_.-]*$/;
const WATCHED = /^watch-(.+)\.json$/;

/** Every target that was ever deployed or watched in a project root, sorted by name. */
export async function knownTargets(layout: Layout): Promise<Target[]> {
  const [released, reported, state] = await Promise.all([
    namesIn(layout.releases()),
    namesIn(join(layout.sealift, "reports")),
    namesIn(join(layout.sealift, "state")),
  ]);
  const watched = state.flatMap((name) => WATCHED.exec(name)?.[1] ?? []);
  const names = new Set([...released, ...reported, ...watched].filter((name) => TARGET.test(name)));
  return [...names].toSorted() as Target[];
}

const namesIn = (folder: string): Promise<string[]> =>
  readdir(folder).catch((error: unknown) => {
    if (missing(error)) return [];
    throw error;
  });

/** A target as people write it: `plugin:SLUG`. */
export const targetText = (target: Target): string => target.replace("-", ":");
