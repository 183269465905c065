import { setImmediate as nextTurn } from "node:timers/promises";
import { parseKitReport } from "../../../artifact/sealed/kit.ts";
import { SealiftError } from "../../../contract/errors.ts";
import type { KitReportsTaken } from "../../../contract/kits/records.ts";
import { projectReport } from "../../../contract/surfaces/deploy.ts";
import { deploymentReport } from "../../../contract/surfaces/reports.ts";
import { targetText } from "../../../contract/target.ts";
import { rootMarkIn } from "../../../contract/trust/marks.ts";
import { JSON_LIMITS, parseJson } from "../../../support/documents/limits.ts";
import { safelyParsed } from "../../../support/documents/safe-parse.ts";
import { HubError } from "../../base/errors.ts";
import type { Principal } from "../../base/principal.ts";
import type { Queries } from "../../records/port.ts";
import type { Project } from "../../records/projects.ts";
import {
  deploymentIdentity,
  type ReportContext,
  storeProjectReport,
  storeTargetReport,
} from "../../records/received-reports.ts";
import { subjectOf, targetOfSubject } from "../../records/subjects.ts";
import type { Core } from "../feature.ts";
import { removedKey } from "./host-records.ts";
import { actsOn, findKit, findKitHost } from "./records.ts";
import type { KitsTable } from "./tables.ts";
import { isTaken } from "./taken-records.ts";

type Taken = KitReportsTaken["items"][number];

const refused = (
  code: "kit_unknown" | "kit_report_invalid" | "host_removed" | "other_host",
  message: string,
): Taken => ({
  ...{ state: "refused", host_id: null, code, message },
});

const invalid = (why: string): Taken => refused("kit_report_invalid", `The report was not taken: ${why}.`);

/** Describes a kit of which the key may not know more. Only its hosts know its id, and who carries their reports. */
const anothers = (kit: string): string =>
  `The kit ${kit} is another owner's, whose fleet gets its reports: a key of theirs has made it, or its project is theirs. Whoever has the line of a host can make a kit for it. A newer one of your own makes the host refuse it.`;

/** The host of a kit was removed or renamed, or its kit is gone, since the report was read. */
class HostChanged extends Error {}

/**
 * Takes a report that has come back from a host without network. It must be signed by a host of the kit that it names.
 * It counts once, and as of the time when it was made: late ones do not say that a host was heard of now.
 */
export async function takeReport(hub: Core, principal: Principal, text: string): Promise<Taken> {
  for (;;)
    try {
      return await takeAsItIs(hub, principal, text);
    } catch (error) {
      if (!(error instanceof HostChanged)) throw error;
      // The change is read when its transaction has ended. Each further turn needs another one.
      await nextTurn();
    }
}

/** @throws HostChanged when the host has changed before the report was stored; nothing is */
async function takeAsItIs(hub: Core, principal: Principal, text: string): Promise<Taken> {
  const { kysely: db } = hub.database;
  let report: ReturnType<typeof parseKitReport>;
  try {
    report = parseKitReport(text);
  } catch (error) {
    if (!(error instanceof SealiftError)) throw error;
    return refused("kit_report_invalid", error.message);
  }
  const { signed, digest } = report;
  const found = await findKit(db, signed.kit);
  if (found === undefined)
    return refused(
      "kit_unknown",
      `The hub knows no kit ${signed.kit}: it was made at another hub, or after the backup that this one was restored from, or ended more than a year ago.`,
    );
  const { kit, target: project } = found;
  const target = targetOfSubject(subjectOf(project));
  if (!actsOn(principal, found)) return refused("kit_unknown", anothers(kit.id));
  if (signed.target !== target) return invalid(`the kit ${kit.id} is of ${target}`);
  const host = await standingOf(db, kit, signed.from);
  if (host === undefined) return invalid("no host of its kit has the key that it names");
  if (!report.isSignedBy(host.ed25519)) return invalid(`the key of ${host.host_id} has not signed it`);
  const context: ReportContext = {
    now: hub.clock(),
    named: undefined,
    root: signed.root === null ? undefined : rootMarkIn(signed.root),
    keyHost: null,
    byKit: {
      ...{ kit: kit.id, digest, madeAt: kit.made_at },
      signedBy: {
        ...{ key: host.ed25519, projectId: kit.hosts_project_id ?? kit.project_id },
        async requireStill(transaction) {
          const now = await standingOf(transaction, kit, signed.from);
          if (now?.host_id !== host.host_id || now.removedAt !== host.removedAt) throw new HostChanged();
        },
      },
    },
  };
  try {
    return await storeOnce(
      hub,
      project,
      kit,
      { host: host.host_id, removedAt: host.removedAt, report: signed.report },
      context,
    );
  } catch (error) {
    if (!(error instanceof HubError) || error.code !== "other_host") throw error;
    const why = `The host ${host.host_id} has a key of its own, and the hub has another card of it, or none.`;
    return refused("other_host", why);
  }
}

/** Finds a host of a kit by its key, with the time when it or the key was removed from the project, if it was. */
async function standingOf(db: Queries, kit: KitsTable, fingerprint: string) {
  const host = await findKitHost(db, kit.id, fingerprint);
  if (host === undefined) return undefined;
  const hostsOf = kit.hosts_project_id ?? (kit.holder === "" ? kit.project_id : undefined);
  const key = hostsOf === undefined ? undefined : await removedKey(db, hostsOf, [fingerprint]);
  return { ...host, removedAt: host.removed_at ?? key?.removed_at };
}

/**
 * Stores a report under the name that the host has in the kit. One that was taken is known, also after its host was
 * removed: the files stay on sticks.
 */
async function storeOnce(
  hub: Core,
  project: Project,
  kit: KitsTable,
  { host: host_id, removedAt, report }: { host: string; removedAt: string | undefined; report: string },
  context: ReportContext,
): Promise<Taken> {
  let value: unknown;
  try {
    value = parseJson(report, JSON_LIMITS);
  } catch (error) {
    return invalid((error as Error).message);
  }
  const named = { ...(value as object), host_id };
  const { kind, slug } = project;
  const { holder } = kit;
  const removed =
    removedAt === undefined ? undefined : refused("host_removed", `The host ${host_id} was removed at ${removedAt}.`);
  const isKnown = (deployment: string, target: string) => isTaken(hub.database.kysely, { holder, target, deployment });
  if (kind === "project") {
    const parsed = safelyParsed(projectReport, named);
    if (!parsed.success || parsed.data.project_id !== project.id || parsed.data.deployment_id === "")
      return invalid("it is not a report of this project");
    const deployment = deploymentIdentity(parsed.data.deployment_id, host_id, context);
    if (await isKnown(deployment, project.id)) return known(host_id);
    if (removed !== undefined) return removed;
    await storeProjectReport(hub.reports, parsed.data, context);
  } else {
    const parsed = safelyParsed(deploymentReport, named);
    if (!parsed.success || targetText(parsed.data) !== targetText({ kind, slug }))
      return invalid(`it is not a report of this ${kind}`);
    if (await isKnown(context.byKit!.digest, subjectOf({ kind, slug }))) return known(host_id);
    if (removed !== undefined) return removed;
    await storeTargetReport(hub.reports, parsed.data, kit.holder, context);
  }
  return { state: "taken", host_id, code: null, message: null };
}

const known = (host_id: string): Taken => ({ state: "known", host_id, code: null, message: null });
