import type { SealiftError } from "../../contract/errors.ts";
import { deprecationText } from "../../contract/version-states.ts";
import { dropPartial } from "../../releases/partial.ts";
import { condemns, forgetDeaths, quarantine, saysOfTheSigner } from "../../releases/quarantine.ts";
import type { Release } from "../../releases/release.ts";
import { printable } from "../../support/printable.ts";
import { traced } from "../../support/work.ts";
import type { Resolved } from "../sources/source.ts";
import { admitVersion, alreadyRuns } from "./admit.ts";
import type { Filling } from "./fill-steps.ts";
import { install, type Installed } from "./install.ts";
import type { WalkEnd } from "./pipeline.ts";
import { errorOf, type Run } from "./run.ts";
import { type StagedTree, stageTree } from "./stage.ts";

/** Verified tree that may replace the running release. */
export interface Arrived {
  staged: StagedTree;
  resolved: Resolved;
  /** Makes a release of the tree, as far as its plan goes before the switch. */
  install: (journal: Filling["journal"]) => Promise<Installed>;
}

/** Walks the steps of a deployment before its switch: resolve → admit → stage → install. A dry run walks them, too. */
export async function walk<T>(run: Run, previous: Release | undefined, end: WalkEnd<T, Arrived>): Promise<T> {
  const { source, layout, emit, signal, isTrial } = run;
  const runs = previous?.version ?? null;
  const resolved = await traced("resolve", {}, () => source.resolve({ layout, emit, signal, running: runs, isTrial }));
  emit({ event: "resolve.ok", version: resolved.version, running_version: runs });
  if (resolved.deprecated !== undefined) {
    const message = `${resolved.version} is deprecated: ${deprecationText(resolved.deprecated)}`;
    emit({ event: "warning", message: printable(message) });
  }
  const running = resolved.mustVerify === true ? undefined : await alreadyRuns(run, previous, resolved);
  if (running !== undefined) return end.unchanged(running);
  const admitted = await traced("admit", {}, () => admitVersion(run, resolved, previous));
  await using staged = await traced("stage", {}, () => stageTree(run, admitted)).catch(async (thrown: unknown) => {
    await condemn(run, resolved, errorOf(run, thrown), false);
    throw thrown;
  });
  if (run.isTrial !== true) {
    await forgetDeaths(layout, source.target);
    await staged.fetched.remember?.();
  }
  // Some hubs state no identity before the download, and a newer kit of what runs was verified.
  const same = await alreadyRuns(run, previous, { version: resolved.version, identity: staged.fetched.identity });
  if (same !== undefined) return await end.unchanged(same);
  return await end.replace({
    staged,
    resolved,
    install: (journal) => traced("install", {}, () => install(run, staged, journal, previous)),
  });
}

/** Quarantines a version for a fault of its own. */
export async function condemn(
  run: Run,
  { version, identity }: Resolved,
  error: SealiftError,
  switched: boolean,
): Promise<void> {
  if (run.isTrial === true || error.ofTheHost === true || !condemns(error, switched)) return;
  const { code, message: reason } = error;
  const at = new Date().toISOString();
  const signers = saysOfTheSigner(error) ? await run.source.acceptedSigners?.(run.layout) : undefined;
  const entry = { version, identity, code, reason, at, ...(signers !== undefined && { signers }) };
  await quarantine(run.layout, run.source.target, entry);
  await dropPartial(run.layout, run.source.target).catch(() => {});
}
