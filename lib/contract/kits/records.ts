import * as z from "zod";
import { base64Of, hostId, projectId, publicKeyHex, sha256Hex, timestamp, versionLabel } from "../identifiers.ts";
import { later } from "../later.ts";
import { pageQuery } from "../paging.ts";
import { textSignature } from "../settings/texts.ts";
import { KIT_LIFETIME_S, MAX_KIT_HOSTS, MAX_KIT_REPORT_BYTES, MAX_KIT_REPORTS } from "./limits.ts";
import { kitId } from "./texts.ts";

/** Kits as the hub keeps and tells them (docs/contract/kits.md). */

const kitHost = later(() =>
  z.strictObject({
    /** Name of the host in the fleet. */
    host_id: hostId,
    x25519: publicKeyHex,
    ed25519: publicKeyHex,
  }),
);
export type KitHost = z.infer<typeof kitHost>;

/** Returns a text with A to Z in small letters: people take two names for one that differ by that only. */
const inOneCase = (text: string): string => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());

/** Finds a name or key that stands twice, and says which. */
function twice(hosts: readonly KitHost[]): string | undefined {
  const before = new Map<string, string>();
  for (const host of hosts)
    for (const key of ["host_id", "x25519", "ed25519"] as const) {
      const { host_id: name } = host;
      const mark = `${key} ${inOneCase(host[key])}`;
      const other = before.get(mark);
      if (other !== undefined)
        return key === "host_id"
          ? `names ${other} twice${other === name ? "" : ` (${name})`}`
          : `has one key for ${other} and ${name}`;
      before.set(mark, name);
    }
  return undefined;
}

const kitHosts = later(() =>
  z
    .array(kitHost)
    .min(1)
    .max(MAX_KIT_HOSTS)
    .refine((hosts) => twice(hosts) === undefined, { error: ({ input }) => twice(input as KitHost[]) }),
);

const request = {
  version: versionLabel,
  hosts: kitHosts,
  /** Time from now after which hosts refuse the kit, in seconds. */
  lasts_s: z.int().min(KIT_LIFETIME_S.min).max(KIT_LIFETIME_S.max).default(KIT_LIFETIME_S.default),
};

export const projectKitRequest = later(() =>
  z.object({ ...request, deployment_credential: z.string().min(1).max(512) }),
);
export const archiveKitRequest = later(() =>
  z.object({
    ...request,
    /** SHA-256 of the archive as it is sealed. */
    digest: sha256Hex,
    /** Key that it is sealed with, which the hub wraps and does not keep. */
    key: base64Of(32),
    /** Project of the hosts: what happens to them there happens to them in the kit. Without it nothing does. */
    hosts_project_id: projectId.optional(),
  }),
);

export const madeKit = later(() =>
  z.object({
    id: kitId,
    hub: z.string(),
    digest: sha256Hex,
    made_at: timestamp,
    ends_at: timestamp,
    /** Canonical JSON of `project` or `archive`, and `facts`, as they stand in `kit.json`: the terms digest it. */
    says: z.string(),
    /** Signature of the hub over the facts of the kit and the digest of `says`. */
    hub_signature: textSignature,
    /** Terms of each host, sealed to it, base64, by the host's fingerprint. */
    hosts: z.record(sha256Hex, z.string()),
  }),
);
export type MadeKit = z.infer<typeof madeKit>;

/** Key with which a hub signs kits. */
export const kitKey = later(() =>
  z.object({
    /** Ed25519 public key, hexadecimal. */
    hub_key: publicKeyHex,
  }),
);

export const kitRecord = later(() =>
  z.object({
    id: kitId,
    /** Target as people write it: `project:ID`, `plugin:SLUG` or `service:SLUG`. */
    target: z.string(),
    /** Project of the hosts, for a plugin or service; null for a project's own kit, and where its maker named none. */
    hosts_project_id: z.string().nullable(),
    version: z.string(),
    digest: sha256Hex,
    made_at: timestamp,
    ends_at: timestamp,
    /** Id of the API key that made it. */
    made_by: z.string(),
    /** Time when somebody ended it at the hub; null for none. */
    ended_at: timestamp.nullable(),
    hosts: z.array(z.object({ host_id: z.string(), fingerprint: sha256Hex, removed_at: timestamp.nullable() })),
  }),
);
export type KitRecord = z.infer<typeof kitRecord>;

export const kitsQuery = later(() =>
  pageQuery.extend({
    /** Restricts the list to kits of one host. */
    host_id: z.string().max(255).optional(),
    /** Restricts the list to kits that have not ended. */
    live: z.enum(["true", "false"]).default("false"),
  }),
);

export const kitReports = later(() =>
  z.object({
    /** Reports, as the hosts have signed them. Each has an answer of its own: one of another form refuses no others. */
    reports: z
      .array(z.string().max(2 * MAX_KIT_REPORT_BYTES))
      .min(1)
      .max(MAX_KIT_REPORTS),
  }),
);

/** Outcomes of a report: stored, stored before, or refused. */
export const KIT_REPORT_STATES = ["taken", "known", "refused"] as const;

export const kitReportsTaken = later(() =>
  z.object({
    /** One for each report, in their order. */
    items: z.array(
      z.object({
        state: z.enum(KIT_REPORT_STATES),
        /** Name of the host in the fleet; null for a report that is refused. */
        host_id: z.string().nullable(),
        /** Code and message of a refusal; null without one. */
        code: z.string().nullable(),
        message: z.string().nullable(),
      }),
    ),
  }),
);
export type KitReportsTaken = z.infer<typeof kitReportsTaken>;
