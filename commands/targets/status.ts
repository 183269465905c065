import { Command, Option } from "clipanion";
import type { Why } from "../../lib/agent/newest/why.ts";
import type { KeptRelease, TargetStatus } from "../../lib/agent/target-status.ts";
import type { UnitState } from "../../lib/agent/unit-states.ts";
import { targetOfName, targetText } from "../../lib/contract/target.ts";
import { host } from "../../lib/options/agent.ts";
import type { DiskUse } from "../../lib/releases/disk-use.ts";
import { counted } from "../../lib/support/counted.ts";
import { withOptions } from "../shell/base.ts";
import { timeText } from "../shell/output/listing.ts";
import { fieldsOf } from "../shell/output/records.ts";
import { projectRootAt, targetsAt } from "./targets.ts";

export class Status extends withOptions(host) {
  static override paths = [["status"]];
  static override listed = () =>
    fieldsOf<ReturnType<typeof factsOf> & { target: string }>({
      target: true,
      running_version: true,
      running_since: true,
      latest_version: true,
      state: true,
      state_since: true,
      releases: true,
      unreadable: true,
      disk: true,
      quarantine: true,
      paused: true,
      pin: true,
      held_rights: true,
      ahead: true,
      partial: true,
      unsent_reports: true,
      last_report: true,
      unhealthy: true,
      settings: true,
      applications: true,
      why: true,
      trust_root: true,
    });
  static override usage = Command.Usage({
    category: "Operating",
    description: "Show what runs on this host, and what is kept, held back or pinned",
    details: `
      Reads the project root: the running version and since when, kept releases, versions in quarantine with their
      reasons, pins and pauses, the last deployment, and the disk that all of it takes. It asks nobody but the
      applications, whether they work (\`sealift app status\` tells more of them).
    `,
    examples: [
      ["Everything in a project root", "$0 status --project-root /srv/app"],
      ["One target", "$0 status plugin:tide-table --project-root /srv/app"],
    ],
  });

  targets = Option.Rest({ name: "TARGET" });

  override async run(): Promise<number> {
    const layout = projectRootAt(this.options.projectRoot);
    const [{ inspectTarget }, { unitStates }, { situationOnDisk }, { whyNotNewest }, { sizeText }] = await Promise.all([
      import("../../lib/agent/target-status.ts"),
      import("../../lib/agent/unit-states.ts"),
      import("../../lib/agent/newest/on-disk.ts"),
      import("../../lib/agent/newest/why.ts"),
      import("../../lib/support/size-text.ts"),
    ]);
    const targets = await targetsAt(layout, this.targets);
    const units = await Array.fromAsync(unitStates(layout, { name: "none" }));
    for (const name of targets) {
      const apps = units.filter(({ target = name }) => target === name);
      const status = await inspectTarget(layout, name);
      const situation = await situationOnDisk(layout, name);
      const why = situation.given === undefined ? undefined : whyNotNewest(situation);
      const target = targetText(targetOfName(name));
      if (this.json) this.print.event({ event: "target", ...factsOf(status, why, apps), target });
      else for (const line of linesOf(status, target, { sizeText, why, apps })) this.print.line(line);
    }
    if (targets.length === 0) this.note(`Nothing was deployed in ${layout.root} yet.`);
    return this.done({ project_root: layout.root, targets: targets.length });
  }
}

/** Returns the reason for which the newest version does not run, as far as this host knows. */
const reasonOf = (why: Why | undefined) => (why === undefined || why.reason === "newest" ? undefined : why);

function factsOf(status: TargetStatus, why: Why | undefined, apps: readonly UnitState[]) {
  const reason = reasonOf(why);
  const { runningSince, settings, releases, disk, quarantine, paused, pin, heldRights } = status;
  const { latest, ahead, partial, lastReport, unsentReports } = status;
  const running = releases.find((release) => release.running);
  return {
    running_version: running?.version ?? null,
    running_since: runningSince,
    latest_version: latest,
    // As a running watch reports it, in its dashboard and its metrics.
    state: status.watch?.is ?? null,
    state_since: status.watch?.since ?? null,
    releases: releases.map(({ name, version, created_at, bytes, running }) => ({
      ...{ name, version, created_at, bytes, running },
    })),
    ...(status.unreadable.length > 0 && { unreadable: status.unreadable }),
    ...{ disk, quarantine, paused, pin, held_rights: heldRights, unsent_reports: unsentReports, settings },
    ahead: ahead && { version: ahead.version, bytes: ahead.bytes, at: ahead.at, not_before: ahead.notBefore },
    partial: partial && { version: partial.version, bytes: partial.bytes, size_bytes: partial.size, at: partial.at },
    last_report: lastReport ?? null,
    unhealthy: status.unhealthy,
    applications: apps.map(({ unit, fault = null, stopped = null }) => ({ unit, fault, stopped_since: stopped })),
    why: reason === undefined ? null : { reason: reason.reason, version: reason.version, message: reason.message },
    ...(status.root !== undefined && { trust_root: status.root }),
  };
}

type SizeText = (bytes: number) => string;

function linesOf(
  status: TargetStatus,
  target: string,
  { sizeText, why, apps }: { sizeText: SizeText; why: Why | undefined; apps: readonly UnitState[] },
): string[] {
  const { settings, releases, disk, quarantine, paused, pin, heldRights } = status;
  const { latest, ahead, partial, lastReport, unsentReports } = status;
  const running = releases.find((release) => release.running);
  const others = releases.filter((release) => !release.running);
  const lines = [`${target}  ${runningText(status, running)}`];
  const say = (what: string, text: string): void => void lines.push(`  ${what.padEnd(11)} ${text}`);
  if (status.unhealthy !== null)
    say("unhealthy", `since ${timeText(status.unhealthy.since)}: ${status.unhealthy.message}`);
  for (const { unit, fault, stopped } of apps)
    if (stopped !== undefined) say(unit, `stopped by an operator since ${timeText(stopped)}`);
    else say(unit, fault === undefined ? "works" : `does not work: ${fault}`);
  if (latest !== null && latest !== running?.version) say("latest", latest);
  const reason = reasonOf(why);
  if (reason !== undefined)
    say("why", reason.version === null ? reason.message : `not ${reason.version}: ${reason.message}`);
  if (ahead !== null) {
    const when = ahead.notBefore === null ? "waits for its switch" : `switches after ${timeText(ahead.notBefore)}`;
    say("ahead", `${ahead.version} is fetched and verified, ${when}`);
  }
  if (partial !== null) {
    const { version, bytes, size } = partial;
    say("partial", `${sizeText(bytes)} of ${sizeText(size)} of ${version} are kept for the next run`);
  }
  if (status.watch !== undefined) say("watch", `${status.watch.is} since ${timeText(status.watch.since)}`);
  for (const { name } of status.unreadable)
    say("unreadable", `${name}: its record is damaged, or of a newer version of Sealift`);
  if (others.length > 0) say("kept", others.map(({ version }) => version).join(", "));
  if (settings["host_id"] !== undefined) say("deployed", settingsText(settings));
  if (releases.length > 0) say("disk", diskText(releases, disk, sizeText));
  if (status.root !== undefined) say("trust root", rootText(status.root));
  if (pin !== null) say("pinned", `to ${pin.version} since ${timeText(pin.at)}${pin.reason ? `: ${pin.reason}` : ""}`);
  if (paused) say("paused", "a watch deploys nothing here until `sealift watch resume`");
  for (const { version, at, reason } of quarantine) say("held back", `${version} since ${timeText(at)}: ${reason}`);
  if (heldRights !== null) {
    const { version, at, rights } = heldRights;
    say("held", `rights: ${version} since ${timeText(at)} asks for more, until \`sealift watch consent ${target}\`:`);
    for (const right of rights) say("", `+ ${right}`);
  }
  if (lastReport !== undefined) {
    const { status: ended, resolved_version: version, completed_at: at, error_message: why, bytes } = lastReport;
    const fetched = bytes > 0 ? `, ${sizeText(bytes)} fetched` : "";
    const tried = `${ended} ${version ?? lastReport.requested_version} at ${timeText(at)}`;
    say("last try", `${tried}${fetched}${why ? `: ${why}` : ""}`);
  }
  if (unsentReports > 0) say("unsent", `${counted(unsentReports, "report")} for the hub`);
  return lines;
}

/** Tells what runs. A release whose record cannot be read is named by its folder. */
function runningText({ runningSince, unreadable }: TargetStatus, running: KeptRelease | undefined): string {
  if (running !== undefined) return `${running.version} runs since ${timeText(runningSince!)}`;
  const unknown = unreadable.find((release) => release.running);
  return unknown === undefined ? "nothing runs" : `${unknown.name} runs`;
}

/** Describes the trust root that a target follows. */
function rootText({ id, version, since, named, unnamed }: NonNullable<TargetStatus["root"]>): string {
  const text = `version ${version} of ${id} since ${timeText(since)}`;
  const hub = named === null || named === version ? "" : `; the hub names ${named}`;
  return unnamed === null ? text + hub : `${text}${hub}; it does not name the signer of ${unnamed}, which runs on`;
}

/** Describes the settings that a rollback takes over. */
function settingsText({ host_id: host, supervisor, ...others }: TargetStatus["settings"]): string {
  const more = Object.entries(others).map(([key, value]) => `${key.replaceAll("_", "-")} ${value}`);
  return [`as ${host}`, `supervisor ${supervisor}`, ...more].join(", ");
}

function diskText(releases: TargetStatus["releases"], { bytes, sharing }: DiskUse, sizeText: SizeText): string {
  const sum = releases.reduce((total, release) => total + release.bytes, 0);
  const text = `${sizeText(bytes)} in ${counted(releases.length, "release")}`;
  if (sharing === "counted" && bytes < sum) return `${text}, which share ${sizeText(sum - bytes)}`;
  return sharing === "unknown" ? `at most ${text}; filefrag (e2fsprogs) would tell what they share` : text;
}
