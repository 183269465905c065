import { join } from "node:path";
import { isTargetName, type TargetName } from "../contract/target.ts";
import { namesIn } from "../support/files.ts";
import type { Layout } from "./layout.ts";

const WATCHED = /^watch-(.+)\.json$/;

/** Lists every target that was ever deployed or watched in a project root, sorted by name. */
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
