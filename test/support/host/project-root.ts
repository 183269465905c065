import { randomUUID } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { TargetName } from "../../../lib/contract/target.ts";
import { reserveData } from "../../../lib/releases/data-folders.ts";
import { Journal } from "../../../lib/releases/journal.ts";
import { type Item, type Layout, layoutOf } from "../../../lib/releases/layout.ts";
import { currentRelease, newReleaseName, writeRelease } from "../../../lib/releases/release.ts";
import { finishSwitch, type NewRelease, switchRelease } from "../../../lib/releases/switch.ts";

export const plugin = (id: string): Item => ({ section: "plugins", id });
export const application = (id: string, data?: string): Item => ({
  section: "apps",
  id,
  ...(data !== undefined && { data }),
});

/** Writes files below a folder from a map of paths to contents. */
export async function plant(folder: string, files: Record<string, string>): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), content);
  }
}

/** A release that nothing points to yet. */
export interface Prepared extends NewRelease {
  journal: Journal;
  name: string;
}

/**
 * A whole release on disk that nothing points to yet, with its journal in phase `staging`.
 *
 * @param data folders of the data of applications, by their keys
 */
export async function prepareRelease(
  layout: Layout,
  target: TargetName,
  version: string,
  files: Record<string, string>,
  data: Record<string, string> = {},
): Promise<Prepared> {
  const name = newReleaseName(version);
  const items = [...new Set(Object.keys(files).map((path) => path.split("/").slice(0, 2).join("/")))].map((key) => {
    const [section, id] = key.split("/");
    return { section: section as Item["section"], id: id!, ...(key in data && { data: data[key] }) };
  });
  await plant(layout.release(target, name), files);
  await writeRelease(layout, target, name, {
    version,
    identity: version,
    items,
    content_sha256: null,
    created_at: new Date().toISOString(),
  });
  for (const item of items) await reserveData(layout, target, name, item);
  const attempt = {
    v: 1 as const,
    deployment_id: randomUUID(),
    target,
    kind: "project" as const,
    slug: target,
    host_id: "host",
    requested_version: version,
    resolved_version: version,
    started_at: new Date().toISOString(),
    release: name,
  };
  const journal = await Journal.begin(layout, attempt, (await currentRelease(layout, target))?.name ?? null);
  return { journal, items, envFiles: new Map(), name };
}

/** Switches to a prepared release for good. */
export async function install(prepared: Prepared): Promise<void> {
  await switchRelease(prepared.journal, prepared);
  await finishSwitch(prepared.journal);
  await prepared.journal.clear();
}

export { layoutOf };
