import { forgetHeld, grantsDigest, readHeld, writeHeld } from "../../releases/holds.ts";
import { isApplication } from "../../releases/layout.ts";
import { isAdopted, type Release } from "../../releases/release.ts";
import { admitApplications, type Refusal } from "../applications/admission.ts";
import type { Applications } from "../applications/descriptors.ts";
import { notAllowed } from "../applications/not-allowed.ts";
import { lookAgainAt } from "./policy.ts";
import type { Deployed, Run } from "./run.ts";

/** Returns the applications of a release that this agent has started; a release adopted by hand has none. */
export const startedBy = (release: Release | undefined): ReadonlySet<string> =>
  new Set(release === undefined || isAdopted(release) ? [] : release.items.filter(isApplication).map(({ id }) => id));

/**
 * Requires that this host may and can run the applications of a release ({@link admitApplications}).
 *
 * @throws DeploymentError `app_not_allowed`, and as that function does
 */
export async function requireApplications(
  { layout, options, signal }: Run<Deployed>,
  apps: Applications,
  previous: Release | undefined,
): Promise<void> {
  const { supervisor } = options;
  const refusal = await admitApplications({ layout, apps, running: startedBy(previous), supervisor, signal });
  if (refusal !== undefined) throw notAllowed(refusal.message, refusal.faults);
}

/**
 * Holds a version with an application that this host does not allow, until the operator does
 * (docs/contract/application.md#held). It is not put into quarantine.
 *
 * @throws DeploymentError `app_not_allowed`, and as {@link admitApplications} does
 */
export async function holdApplications(
  run: Run,
  asked: { version: string; identity: string | null },
  apps: Applications,
  previous: Release | undefined,
): Promise<void> {
  const { layout, source, options, signal } = run;
  const { supervisor } = options;
  const refusal = await admitApplications({ layout, apps, running: startedBy(previous), supervisor, signal });
  if (refusal !== undefined) {
    await hold(run, asked, refusal);
    throw notAllowed(refusal.message, refusal.faults);
  }
  if (run.isTrial !== true && apps.size > 0) await forgetHeld(layout, source.target, "application");
}

async function hold(
  { layout, source, emit, isTrial = false }: Run,
  { version, identity }: { version: string; identity: string | null },
  { message, isLasting }: Refusal,
): Promise<void> {
  const before = await readHeld(layout, source.target, "application");
  const isSame = before?.version === version && before.identity === identity && before.message === message;
  emit({ event: "apps.held", version, message, repeated: isSame });
  if (isTrial) return;
  const now = Date.now();
  const last = isSame && before.again !== null ? { at: before.at, again: before.again } : undefined;
  const again = isLasting ? null : lookAgainAt(now, undefined, last);
  const grants = await grantsDigest(layout);
  const held = { version, identity, message, grants, again, at: new Date(now).toISOString() };
  await writeHeld(layout, source.target, "application", held);
}
