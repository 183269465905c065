import { join } from "node:path";
import * as z from "zod";
import { MANIFEST_FILE } from "../../contract/files/manifest.ts";
import { later } from "../../contract/later.ts";
/** State of a watched target on this host, read from its project root. */
import { type TargetName, targetOfName } from "../../contract/target.ts";
import type { RootMark } from "../../contract/trust/marks.ts";
import { damageOf } from "../../releases/contents.ts";
import { readDeployed } from "../../releases/deployed.ts";
import { readStanding, sickOf } from "../../releases/health.ts";
import { type HoldCause, holdsOf } from "../../releases/holds.ts";
import { readJsonFile } from "../../releases/json-file.ts";
import { isNewerKit, readAcceptedKit } from "../../releases/kits.ts";
import type { Layout } from "../../releases/layout.ts";
import { readQuarantine } from "../../releases/quarantine.ts";
import { currentName, currentRelease, listReleases } from "../../releases/release.ts";
import { readRootMark } from "../../releases/trust-roots.ts";
import { previousRelease } from "../deployment/rollback.ts";
import type { Source } from "../sources/source.ts";
import type { Latest, TargetFacts } from "./decide.ts";
import type { HoldReason, WatchedTarget } from "./events.ts";
import { readPin, rememberedName, type WatchMemory, type WatchState } from "./state.ts";
import type { WatchTarget } from "./target.ts";

/** Returns the version of the running release; null before the first deployment. */
export async function runningVersion(layout: Layout, target: TargetName): Promise<string | null> {
  return (await currentRelease(layout, target))?.version ?? null;
}

/** Returns the versions that a target has run on this host, kept or not. */
async function versionsRun(layout: Layout, target: TargetName): Promise<Set<string>> {
  const runs = (await readDeployed(layout, target))?.ran ?? [];
  return new Set([...runs, ...(await listReleases(layout, target))].map(({ version }) => version));
}

/** True when files of the running release are missing or have changed, as after a power cut. */
export async function isDamaged(layout: Layout, target: TargetName): Promise<boolean> {
  const release = await currentRelease(layout, target);
  return release !== undefined && (await damageOf(layout, target, release)) !== undefined;
}

/** Reads what a host says of itself in a poll: the version that runs, and the trust root that it follows. */
export async function saysOfItself(
  layout: Layout,
  target: TargetName,
): Promise<{ running: string | null; root: RootMark | undefined }> {
  return { running: await runningVersion(layout, target), root: await readRootMark(layout, target) };
}

/**
 * Returns when a version that does not meet the policy, or whose application is not allowed, is to be looked at again,
 * in milliseconds since 1970. Infinity for other reasons, which end by somebody's doing only.
 */
export async function lookAt(layout: Layout, target: TargetName, held: HoldReason | null): Promise<number> {
  if (held !== "policy" && held !== "application") return Infinity;
  const holds = await holdsOf(layout, target, ["policy", "application"]).catch(() => []);
  return Math.min(Infinity, ...holds.flatMap(({ again }) => (again === null ? [] : Date.parse(again))));
}

/** Collects the facts that a decision about a target needs, in addition to those that only its loop knows. */
export async function decisionFacts(
  layout: Layout,
  { source, options }: Pick<WatchTarget, "source" | "options">,
  { paused, latest }: WatchState,
  loop: Pick<TargetFacts, "damaged" | "asked">,
): Promise<TargetFacts & { pin: string | null }> {
  const { allowDowngrade = false, acceptRights } = options;
  const latestSource = source("latest");
  const { target } = latestSource;
  const known = await factsOnDisk(layout, target, { paused, latest, trust: latestSource.trust });
  // A hold whose rule the operator has lifted counts no more.
  const isRule: Record<HoldCause, boolean> = {
    rights: !acceptRights,
    policy: options.policy !== undefined,
    application: true,
    settings: options.awaitsSettings === true,
  };
  return {
    ...{ ...loop, ...known, allowDowngrade },
    signers: await latestSource.acceptedSigners?.(layout),
    holds: known.holds.filter(({ reason }) => isRule[reason]),
  };
}

/** Reads the facts about a target that this host keeps on its disk. */
export async function factsOnDisk(
  layout: Layout,
  target: TargetName,
  { paused, latest, trust }: { paused: boolean; latest: Latest | null } & Pick<Source, "trust">,
) {
  const running = await currentRelease(layout, target);
  const quarantine = await readQuarantine(layout, target);
  return {
    running: running?.version ?? null,
    latest: latest ?? { version: null, identity: null, yanked: [] },
    quarantine,
    keepsEarlier: (await previousRelease(layout, { ...targetOfName(target), trust })) !== undefined,
    paused,
    pin: (await readPin(layout, target))?.version ?? null,
    ran: await versionsRun(layout, target),
    holds: await holdsOf(layout, target),
    isNewKit: isNewerKit(latest?.kitMadeAt ?? undefined, await readAcceptedKit(layout, target)),
  };
}

/** Describes a target for the dashboard. A project root that cannot be read fails only its own checks. */
export async function describeTarget(
  { name, intervalMs }: Pick<WatchTarget, "name" | "intervalMs">,
  source: Source,
  layout: Layout,
  memory: WatchMemory,
): Promise<WatchedTarget> {
  const { kind, slug, target } = source;
  const state = await memory.read().catch(() => undefined);
  const title = await titleOf(layout, target).catch(() => undefined);
  const unhealthy = sickOf(await readStanding(layout, target).catch(() => undefined));
  return {
    target: name,
    ...(title !== undefined && { title }),
    kind,
    slug,
    project_root: layout.root,
    interval_ms: intervalMs,
    running_version: await runningVersion(layout, target).catch(() => null),
    latest_version: state?.latest?.version ?? null,
    previous_version: (await previousRelease(layout, source).catch(() => undefined))?.version ?? null,
    paused: state?.paused ?? false,
    ...(unhealthy !== undefined && { unhealthy }),
  };
}

const namedManifest = later(() => z.looseObject({ project_name: z.string().min(1).max(255) }));

/**
 * Returns the name of a project, `project:Harbour`: the hub's, or else that in the manifest of the running release, or
 * else the one that a watch has heard before the first deployment succeeded. Undefined for plugins and services, whose
 * slug is their name.
 *
 * @param named name that the hub has stated
 */
export async function titleOf(layout: Layout, target: TargetName, named?: string): Promise<string | undefined> {
  if (named !== undefined) return `project:${named}`;
  if (!target.startsWith("project-")) return undefined;
  const release = await currentName(layout, target);
  const manifest =
    release === undefined
      ? undefined
      : await readJsonFile(join(layout.release(target, release), MANIFEST_FILE), namedManifest).catch(() => undefined);
  const name = manifest?.project_name ?? (await rememberedName(layout, target).catch(() => undefined));
  return name && `project:${name}`;
}
