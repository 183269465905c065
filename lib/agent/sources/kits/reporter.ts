import { constants } from "node:fs";
import { mkdir, open, rm } from "node:fs/promises";
import { join } from "node:path";
import { entriesCalled, entryCalled, readRegular, syncStick } from "../../../artifact/kits/kit-folder.ts";
import type { HostKey } from "../../../artifact/sealed/host-key.ts";
import { parseKitReport, signKitReport } from "../../../artifact/sealed/kit.ts";
import { deploymentError } from "../../../contract/errors.ts";
import { KIT_REPORTS_FOLDER, MAX_KIT_REPORT_BYTES } from "../../../contract/kits/limits.ts";
import type { LocalReport } from "../../../contract/surfaces/reports.ts";
import { type Target, type TargetName, targetName, targetText } from "../../../contract/target.ts";
import { rootMarkText } from "../../../contract/trust/marks.ts";
import { keepKitReport, lastKitReport, readAcceptedKit } from "../../../releases/kits.ts";
import type { Layout } from "../../../releases/layout.ts";
import { openFolder } from "../../../releases/open-folder.ts";
import type { Reporter } from "../../base/reporter.ts";

/** Parts of a reporter whose reports are carried. */
interface KitReporterOptions {
  key: HostKey;
  target: Target;
  /** Folder of a kit that takes reports along, where it can be written; undefined for none. */
  folder: string | undefined;
  /** Returns the id of the kit of this run, once it was opened for this host. */
  openedKit: () => string | undefined;
  /** Returns a report as a host with network sends it. */
  wireReport: (report: LocalReport) => object;
}

/**
 * Returns a reporter that signs reports with the host's key, keeps them in the project root, and writes them to the
 * stick as well, if that can be written.
 */
export function kitReporter({ key, target, folder, openedKit, wireReport }: KitReporterOptions): Reporter {
  return {
    async report(report, _signal, layout) {
      const kit = openedKit() ?? (await acceptedBy(key, layout, targetName(target)));
      if (kit === undefined)
        throw deploymentError("kit_unknown", "No kit for this host was opened, under which it could report.", {
          hint: "The next run with a kit signs the report.",
        });
      if (await isRepeated(report, kit, layout, targetName(target))) return;
      const { host_id, trust_root: root } = report;
      const facts = { kit, target: targetText(target), host_id, report: fitting(wireReport(report)) };
      const text = signKitReport({ ...facts, root: root === undefined ? null : rootMarkText(root) }, key);
      const name = await keepKitReport(layout, targetName(target), text, parseKitReport(text).digest);
      // The stick may be read-only, full or gone: `sealift kit collect` takes the report along later.
      if (folder !== undefined) await carryReport(folder, name, text).catch(() => undefined);
    },
  };
}

/**
 * Returns the kit under which a host with this key reports: the accepted one, if this key has opened it. No other kit
 * has the key, so what a new one has to say waits for its first kit.
 */
async function acceptedBy({ fingerprint }: HostKey, layout: Layout, target: TargetName): Promise<string | undefined> {
  const accepted = await readAcceptedKit(layout, target);
  return accepted === undefined || (accepted.to ?? fingerprint) !== fingerprint ? undefined : accepted.kit;
}

/**
 * Tells whether the last report says the same of the same kit. A watch looks at a damaged stick again and again, and
 * reports of that would push all others out.
 */
async function isRepeated(report: LocalReport, kit: string, layout: Layout, target: TargetName): Promise<boolean> {
  if (report.code?.startsWith("kit_") !== true) return false;
  const last = await lastKitReport(layout, target);
  if (last === undefined) return false;
  const { signed } = parseKitReport(last.trim());
  const { code, error_message } = JSON.parse(signed.report) as Partial<LocalReport>;
  return signed.kit === kit && code === report.code && error_message === report.error_message;
}

/** Returns a report as a JSON text that fits: one with too many plugins or lines of a log goes without them. */
function fitting(wire: object): string {
  const text = JSON.stringify(wire);
  if (Buffer.byteLength(text) <= MAX_KIT_REPORT_BYTES) return text;
  const { log: _log, steps: _steps, ...rest } = wire as Record<string, unknown>;
  return JSON.stringify("plugins" in rest ? { ...rest, plugins: [] } : rest);
}

const isFolder = (path: string) =>
  deploymentError("kit_unwritable", `${path} is a folder, so the report of this name was not copied.`, {
    hint: "All other reports were. Remove the folder from the stick, and collect again.",
  });

/**
 * Writes a signed report to a kit, unless it is there.
 *
 * @returns whether it was written
 * @throws DeploymentError `kit_unwritable` for a folder of its name; Error where the stick cannot be written
 */
export async function carryReport(folder: string, name: string, text: string): Promise<boolean> {
  const path = join(folder, (await entryCalled(folder, KIT_REPORTS_FOLDER)) ?? KIT_REPORTS_FOLDER);
  await mkdir(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
  });
  const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;
  // Whoever else may write on the stick could put a link in its place meanwhile.
  await using reports = await openFolder(path);
  const named = await entriesCalled(reports.path("."), name);
  const known = named.includes(name) ? name : named[0];
  if (known !== undefined) {
    // A stick that was pulled out may have a part of it.
    const kept = await readRegular(reports.path(known), 2 * MAX_KIT_REPORT_BYTES).catch(() => undefined);
    if (kept?.trim() === text) return false;
    await rm(reports.path(known)).catch((error: NodeJS.ErrnoException) => {
      throw error.code === "ERR_FS_EISDIR" ? isFolder(join(path, known)) : error;
    });
  }
  const file = await open(reports.path(name), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o644);
  try {
    await file.writeFile(`${text}\n`);
    await file.sync();
    await file.close();
    await syncStick(reports.path("."), folder);
  } catch (error) {
    await file.close().catch(() => undefined);
    // A stick that is full keeps the name, and nobody could hand that in.
    await rm(reports.path(name), { force: true }).catch(() => undefined);
    throw error;
  }
  return true;
}
