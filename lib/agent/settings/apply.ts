import { isDeepStrictEqual, parseEnv } from "node:util";
import { blamesVersion } from "../../contract/blame.ts";
import { asSealiftError, type SealiftError } from "../../contract/errors.ts";
import { MAX_IGNORED, type SettingsOutcome } from "../../contract/settings/texts.ts";
import { type AcceptedSettings, readFleetSettings } from "../../releases/fleet-settings.ts";
import { type Attempt, Journal } from "../../releases/journal.ts";
import type { Layout } from "../../releases/layout.ts";
import { itemOfUnit } from "../../releases/names.ts";
import { releaseFailed } from "../../releases/quarantine.ts";
import { currentRelease, type Release } from "../../releases/release.ts";
import { forgetFormerEnvFiles, replaceEnvFile } from "../../releases/replaced-env.ts";
import { restingUnits } from "../../releases/stopped.ts";
import { undoSwitch } from "../../releases/switch.ts";
import { type Applications, descriptorsIn } from "../applications/descriptors.ts";
import { settingsOfApplications, valuesOf } from "../applications/fleet-settings.ts";
import { stepsOfChanged } from "../applications/steps.ts";
import type { Emit } from "../base/events.ts";
import { askBack, GoneBack } from "../deployment/ask-back.ts";
import { emptyAmong, requireSettings } from "../deployment/env-file.ts";
import { startedBy } from "../deployment/hold-applications.ts";
import { endInterrupted, recover } from "../deployment/interrupted.ts";
import {
  type Deployed,
  type DeployOptions,
  errorOf,
  lockRoot,
  lockTarget,
  newRun,
  openRoot,
  type Run,
} from "../deployment/run.ts";
import { runSteps } from "../deployment/steps.ts";
import { blamed, supervisorOf } from "../deployment/supervision.ts";
import { bringBack } from "../deployment/undo.ts";

const NO_APPLICATIONS: Applications = new Map();

/** Result of carrying out settings on a host. */
export interface SettingsResult extends Pick<SettingsOutcome, "state" | "code" | "ignored"> {
  /** Release that ran with them; null where nothing is installed. */
  release: string | null;
  /** Applications that were restarted. */
  units: readonly string[];
  error?: SealiftError;
}

/**
 * Carries out settings of the fleet: replaces the block of each application whose settings change, restarts those, and
 * asks them as a deployment does. Settings with which one does not work are taken back, and what was before is asked.
 * An interruption, a full disk or a supervisor that is not there blames no settings: it is thrown, and they are tried
 * again.
 *
 * @throws DeploymentError of the host, and as runs do
 */
export async function applySettings(
  source: Pick<Deployed, "kind" | "slug" | "target">,
  settings: AcceptedSettings,
  options: DeployOptions,
  listener: Emit,
): Promise<SettingsResult> {
  const subject: Deployed = { ...source, requestedVersion: "settings" };
  await using run = await openRoot(newRun(subject, options, listener));
  await using _turn = await lockTarget(run);
  await recover(run);
  const { layout } = run;
  const release = await currentRelease(layout, source.target);
  const folder = release && layout.release(source.target, release.name);
  const apps = folder === undefined ? NO_APPLICATIONS : await descriptorsIn(folder, [...startedBy(release)]);
  const ignored = undeclaredIn(settings, apps);
  const known: Pick<SettingsResult, "ignored" | "release"> = {
    ignored: release === undefined ? Object.keys(settings.apps).map((name) => ({ name, code: "no_version" })) : ignored,
    release: release?.name ?? null,
  };
  let texts: ReadonlyMap<string, string>;
  try {
    texts = await workableTexts(layout, source.target, apps, settings);
  } catch (thrown) {
    return refused(known, asSealiftError(thrown));
  }
  const units = [...texts.keys()];
  const stopped = (await restingUnits(layout, units.map(itemOfUnit))).map((unit) => itemOfUnit(unit).id);
  // They count from its start on: nobody knows yet whether it works with them.
  known.ignored = [...stopped.map((name) => ({ name, code: "app_stopped" })), ...known.ignored];
  const applied: SettingsResult = { ...known, units, state: "applied", code: null };
  if (release !== undefined && units.length === 0) {
    // A version that went back may have lacked what this one does not read.
    const { held } = await readFleetSettings(layout, source.target);
    if (!isDeepStrictEqual(held?.apps, settings.apps)) await releaseFailed(layout, source.target);
    return applied;
  }
  const gone = release && (await replaceSettings(run, settings, release, apps));
  if (gone === undefined) {
    await releaseFailed(layout, source.target);
    return applied;
  }
  if (!blamesVersion(gone.error.code)) throw gone.error;
  const back = await askBack(run, gone, release);
  const state = back.state === "silent" ? "not_back" : "failed";
  return { ...known, units, state, code: gone.error.code, error: gone.error };
}

/** Lists the values of settings that the applications of a release do not read. */
const undeclaredIn = (settings: AcceptedSettings, apps: Applications): SettingsOutcome["ignored"] =>
  Object.keys(settings.apps).flatMap((id) => valuesOf(settings, id, apps.get(id)?.environment).ignored);

/**
 * Lists what a release that has started since does not use of settings: values that its applications do not read, and
 * those of its applications that an operator has stopped.
 *
 * @param untried applications that had not tried the settings before
 */
export async function unusedSince(
  layout: Layout,
  target: Deployed["target"],
  settings: AcceptedSettings,
  untried: readonly string[],
): Promise<SettingsOutcome["ignored"] | undefined> {
  const release = await currentRelease(layout, target);
  if (release === undefined) return undefined;
  const apps = await descriptorsIn(layout.release(target, release.name), [...startedBy(release)]);
  const resting = await restingUnits(
    layout,
    release.items.filter(({ id }) => apps.has(id) && untried.includes(id)),
  );
  const stopped = resting.map((unit) => ({ name: itemOfUnit(unit).id, code: "app_stopped" }));
  return [...stopped, ...undeclaredIn(settings, apps)].slice(0, MAX_IGNORED);
}

/** Codes of settings that no program could be started with: they fail before anything is stopped. */
export const UNWORKABLE: ReadonlySet<string> = new Set(["env_missing", "config_invalid"]);

/** Returns the result of settings that nothing was done with. @throws any error that says nothing of them */
function refused(known: Pick<SettingsResult, "ignored" | "release">, error: SealiftError): SettingsResult {
  if (!UNWORKABLE.has(error.code)) throw error;
  return { ...known, units: [], state: "failed", code: error.code, error };
}

/**
 * Composes the files that change, and requires that a program can be started with each.
 *
 * @throws DeploymentError `env_missing`; UsageError `config_invalid`
 */
async function workableTexts(
  layout: Layout,
  target: Deployed["target"],
  apps: Applications,
  settings: AcceptedSettings,
): Promise<Map<string, string>> {
  const texts = await settingsOfApplications(layout, target, apps, settings);
  const missing = Array.from(texts, ([unit, text]) => {
    const item = itemOfUnit(unit);
    const names = emptyAmong(apps.get(item.id)!.environment.required, parseEnv(text));
    return { plugin: item.id, names, file: layout.envFile(item), mayBeGiven: false };
  });
  requireSettings(missing.filter(({ names }) => names.length > 0));
  return texts;
}

/** Replaces settings, and restarts what reads them, under the root's lock. @returns what was gone back to, if it was */
async function replaceSettings(
  run: Run<Deployed>,
  settings: AcceptedSettings,
  release: Release,
  apps: Applications,
): Promise<GoneBack | undefined> {
  const { layout, source, options, emit, signal } = run;
  await using _root = await lockRoot(run);
  await endInterrupted(layout, options.supervisor, emit);
  // Somebody may have changed the host's own lines meanwhile.
  const texts = await workableTexts(layout, source.target, apps, settings);
  const attempt: Attempt = {
    v: 1,
    ...{ deployment_id: run.id, target: source.target, kind: source.kind, slug: source.slug },
    ...{ host_id: options.hostId, requested_version: source.requestedVersion, resolved_version: release.version },
    ...{ started_at: run.startedAt, release: release.name },
  };
  const journal = await Journal.begin(layout, attempt, release.name, { keepsRelease: true, isSettings: true });
  try {
    for (const [unit, text] of texts) await replaceEnvFile(journal, unit, text);
    const supervisor = supervisorOf(layout, options.supervisor, release.items);
    const steps = stepsOfChanged([...texts.keys()].map(itemOfUnit));
    await runSteps(steps, { journal, supervisor, notifiers: options.notifiers, emit, signal });
    signal.throwIfAborted();
  } catch (thrown) {
    const error = await blamed(run, errorOf(run, thrown), journal.entry.touched);
    return await takeBack(run, journal, error);
  }
  await forgetFormerEnvFiles(journal);
  await journal.clear();
  return undefined;
}

async function takeBack(run: Run<Deployed>, journal: Journal, error: SealiftError): Promise<GoneBack> {
  const { layout, options, emit } = run;
  emit({ event: "rollback.started", reason: error.message });
  try {
    await undoSwitch(journal);
    const brought = await bringBack(layout, journal.entry, { supervisor: options.supervisor, emit, wasVisible: false });
    await journal.clear();
    emit({ event: "rollback.done", release: journal.entry.release });
    return new GoneBack(error, brought);
  } catch (thrown) {
    const { message } = asSealiftError(thrown);
    emit({ event: "warning", message: `Taking the settings back met a problem: ${message} The next run finishes it.` });
    throw error;
  }
}
