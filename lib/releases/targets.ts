import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { isTargetName, type TargetName } from "../contract/target.ts";
import { missing } from "../support/files.ts";
import type { Layout } from "./layout.ts";

const WATCHED = /^watch-(.+)\.json$/;

/** Every target that was ever deployed or watched in a project root, sorted by name. */
export async function knownTargets(layout: Layout): Promise<TargetName[]> {
  const [released, reported, state] = await Promise.all([
    namesIn(layout.releases()),
    namesIn(join(layout.sealift, "reports")),
    namesIn(join(layout.sealift, "state")),
  ]);
  const watched = state.flatMap((name) => WATCHED.exec(name)?.[1] ?? []);
  const names = new Set([...released, ...reported, ...watched].filter(isTargetName));
  return [...names].toSorted();
}

const namesIn = (folder: string): Promise<string[]> =>
  readdir(folder).catch((error: unknown) => {
    if (missing(error)) return [];
    throw error;
  });
