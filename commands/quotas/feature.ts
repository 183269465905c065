import { Command } from "clipanion";
import { usageError } from "../../lib/contract/errors.ts";
import type { UsedQuota } from "../../lib/hub/features/quotas/by-hand.ts";
import type { StorageHolder } from "../../lib/hub/records/usage.ts";
import { quotaListing, quotaRemoval, quotaSetting } from "../../lib/options/quotas.ts";
import { counted } from "../../lib/support/counted.ts";
import { databaseOf } from "../hub/storage.ts";
import { withOptions } from "../shell/base.ts";
import type { CommandFeature } from "../shell/feature.ts";
import { fieldsOf } from "../shell/output/records.ts";

/** Returns the subject of a quota. @throws UsageError `usage` unless exactly one is given */
function holderIn({ owner, project }: { owner: string | undefined; project: string | undefined }): StorageHolder {
  if (owner !== undefined && project === undefined) return `owner/${owner}`;
  if (project !== undefined && owner === undefined) return `project/${project}`;
  throw usageError("usage", "A quota belongs to an owner or to a project.", { hint: "Give --owner or --project." });
}

function described({ subject, max_bytes: maxBytes, max_versions: maxVersions, usage }: UsedQuota): string {
  const bytes =
    maxBytes === null ? `${counted(usage.bytes, "byte")} (no limit)` : `${usage.bytes} of ${counted(maxBytes, "byte")}`;
  const versions =
    maxVersions === null
      ? `${counted(usage.versions, "version")} (no limit)`
      : `${usage.versions} of ${counted(maxVersions, "version")}`;
  return `${subject.padEnd(40)} ${bytes}, ${versions}`;
}

/** Whether more is stored than the quota allows. */
const isExceeded = ({ max_bytes: bytes, max_versions: versions, usage }: UsedQuota): boolean =>
  (bytes !== null && usage.bytes > bytes) || (versions !== null && usage.versions > versions);

class HubQuotaSet extends withOptions(quotaSetting) {
  static override paths = [["hub", "quota", "set"]];
  static override usage = Command.Usage({
    category: "Hub",
    description: "Limit what an owner or a project stores on a hub",
    details: `
      Works on the hub's database, beside the running hub. A limit that is not named stays as it is;
      \`hub quota remove\` lifts both. A publication that would go beyond a limit is refused with 413
      \`quota_exceeded\`; what is stored already stays. Bytes are those of artifacts, archives, deltas, indexes and
      reports.
    `,
    examples: [
      ["An owner", "$0 hub quota set --owner alice --max-bytes 50G --max-versions 200"],
      ["A project", "$0 hub quota set --project prj_0123456789 --max-versions 20"],
    ],
  });

  override async run(): Promise<number> {
    const { maxBytes, maxVersions } = this.options;
    if (maxBytes === undefined && maxVersions === undefined) {
      throw usageError("usage", "A quota needs a limit.", {
        hint: "Give --max-bytes, --max-versions or both; hub quota remove lifts a quota.",
      });
    }
    const { setQuota } = await import("../../lib/hub/features/quotas/by-hand.ts");
    const quota = await setQuota(await databaseOf(this.options), {
      subject: holderIn(this.options),
      ...(maxBytes !== undefined && { max_bytes: maxBytes }),
      ...(maxVersions !== undefined && { max_versions: maxVersions }),
    });
    if (this.json) return this.done({ quota, exceeded: isExceeded(quota) });
    this.print.line(described(quota));
    if (isExceeded(quota))
      this.note("More is stored already: it stays, and nothing further is taken until some of it goes.");
    return 0;
  }
}

class HubQuotaRemove extends withOptions(quotaRemoval) {
  static override paths = [["hub", "quota", "remove"]];
  static override usage = Command.Usage({
    category: "Hub",
    description: "Lift the quota of an owner or a project",
    examples: [["An owner", "$0 hub quota remove --owner alice"]],
  });

  override async run(): Promise<number> {
    const subject = holderIn(this.options);
    const { dropQuota } = await import("../../lib/hub/features/quotas/by-hand.ts");
    const { dryRun } = this.options;
    const quota = await dropQuota(await databaseOf(this.options), subject, { dryRun });
    this.note(
      dryRun
        ? `would lift the quota of ${described(quota).replace(/ +/, ": ")}`
        : `There is no quota of ${subject} any more.`,
    );
    return this.done({ subject, quota, dry_run: dryRun });
  }
}

class HubQuotaList extends withOptions(quotaListing) {
  static override paths = [["hub", "quota", "list"]];
  static override listed = () =>
    fieldsOf<UsedQuota>({ subject: true, max_bytes: true, max_versions: true, usage: true });
  static override usage = Command.Usage({
    category: "Hub",
    description: "List quotas, and what is used of each",
    examples: [["All of them", "$0 hub quota list --data-dir /var/lib/sealift-hub"]],
  });

  override async run(): Promise<number> {
    const { usedQuotas } = await import("../../lib/hub/features/quotas/by-hand.ts");
    const quotas = await usedQuotas(await databaseOf(this.options));
    for (const quota of quotas) {
      if (this.json) this.print.event({ event: "quota", ...quota });
      else this.print.line(described(quota));
    }
    if (quotas.length === 0) this.note("No quotas.");
    return this.done({ count: quotas.length });
  }
}

export const quotas: CommandFeature = { name: "quotas", commands: [HubQuotaList, HubQuotaRemove, HubQuotaSet] };
