import { randomUUID } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type Journal, writeJournal } from "../../../lib/releases/journal.ts";
import { type Item, type Layout, layoutOf, type Target } from "../../../lib/releases/layout.ts";
import { currentRelease, newReleaseName, writeRelease } from "../../../lib/releases/release.ts";

export const plugin = (id: string): Item => ({ section: "plugins", id });

/** Writes files below a folder from a map of paths to contents. */
export async function plant(folder: string, files: Record<string, string>): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), content);
  }
}

/** A whole release on disk that nothing points to yet, with its journal in phase `staging`. */
export async function prepareRelease(
  layout: Layout,
  target: Target,
  version: string,
  files: Record<string, string>,
): Promise<Journal> {
  const name = newReleaseName(version);
  const items = [...new Set(Object.keys(files).map((path) => path.split("/").slice(0, 2).join("/")))].map((key) => {
    const [section, id] = key.split("/");
    return { section: section as Item["section"], id: id! };
  });
  await plant(layout.release(target, name), files);
  await writeRelease(layout, target, name, {
    version,
    identity: version,
    items,
    content_sha256: null,
    created_at: new Date().toISOString(),
  });
  const journal: Journal = {
    v: 1,
    phase: "staging",
    deployment_id: randomUUID(),
    target,
    kind: "project",
    slug: target,
    host_id: "host",
    requested_version: version,
    resolved_version: version,
    started_at: new Date().toISOString(),
    release: name,
    previous: (await currentRelease(layout, target))?.name ?? null,
    items,
    previous_items: [],
    adopted: [],
    env_files: [],
    touched: [],
  };
  await writeJournal(layout, journal);
  return journal;
}

export { layoutOf };
