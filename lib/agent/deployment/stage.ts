import { mkdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Attempt } from "../../releases/journal.ts";
import { writeJsonFile } from "../../releases/json-file.ts";
import { ATTEMPT_FILE } from "../../releases/layout.ts";
import { dropPartial, hasPartial } from "../../releases/partial.ts";
import { newReleaseName } from "../../releases/release.ts";
import { makeFolder } from "../../support/files.ts";
import type { Fetched } from "../sources/source.ts";
import type { Admitted } from "./admit.ts";
import { bootId } from "./interrupted.ts";
import { errorOf, type Run } from "./run.ts";

/** Verified tree in its private folder. Disposing of it removes what is left there. */
export interface StagedTree extends AsyncDisposable {
  attempt: Attempt;
  folder: string;
  fetched: Fetched;
}

/**
 * Fetches and verifies a version in a private folder. Holds only the target's own lock meanwhile, so that a slow hub
 * delays no other target. The folder records its run: if this process dies, the next run reports it.
 */
export async function stageTree(run: Run, { resolved, evidence }: Admitted): Promise<StagedTree> {
  const { source, layout, options, emit, signal, draft } = run;
  const { target } = source;
  const attempt: Attempt = {
    v: 1,
    deployment_id: run.id,
    target,
    kind: source.kind,
    slug: source.slug,
    host_id: options.hostId,
    requested_version: source.requestedVersion,
    resolved_version: resolved.version,
    started_at: run.startedAt,
    release: newReleaseName(resolved.version),
    identity: resolved.identity,
    boot_id: await bootId(),
  };
  const folder = layout.staging(target, attempt.release);
  const remove = (): Promise<void> => rm(folder, { recursive: true, force: true });
  await makeFolder(dirname(folder));
  const fetch = async (keeps: boolean): Promise<Fetched> => {
    await mkdir(folder, { mode: 0o700 });
    await writeJsonFile(join(folder, ATTEMPT_FILE), attempt);
    const { limits } = options;
    const measuresArtifact = evidence?.restsOnArtifact === true;
    return resolved.fetch({ layout, target, staging: folder, limits, emit, signal, measuresArtifact, keeps });
  };
  try {
    const fetched = await fetch(run.isTrial !== true).catch(async (thrown: unknown) => {
      if (run.isTrial === true || !(await freesKept(run, resolved.version, thrown))) throw thrown;
      await remove();
      return fetch(false);
    });
    if (evidence !== undefined) (await import("../policy/evidence.ts")).requireSame(evidence, fetched);
    const { repo, artifactSha256: artifact_sha256, signer, reported } = fetched;
    draft.fetched({ repo, artifact_sha256, signer, plugins: [...reported] });
    return { attempt, folder, fetched, [Symbol.asyncDispose]: remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

/**
 * Drops the bytes that the download has kept where the disk is full: the tree needs their room. Free space alone does
 * not tell beforehand, since it shows no quota.
 *
 * @returns whether there were any
 */
async function freesKept(run: Run, version: string, thrown: unknown): Promise<boolean> {
  const { layout, source, emit } = run;
  const { code, message: reason } = errorOf(run, thrown);
  if (code !== "disk_full" || !(await hasPartial(layout, source.target).catch(() => false))) return false;
  await dropPartial(layout, source.target).catch(() => {});
  emit({ event: "partial.unusable", version, code, reason });
  return true;
}
