import * as z from "zod";
import { hostFacts } from "../facts/host.ts";
import { versionContent, versionMarks } from "../facts/version.ts";
import { base64Of, hostId, slug, versionLabel } from "../identifiers.ts";
import { later } from "../later.ts";
import { latestFacts } from "./latest-facts.ts";
import { stageField, versionState } from "./version-state.ts";

/** Surface A on the wire (docs/contract/marketplace.md). */

export const marketplaceKind = later(() => z.enum(["plugin", "service"]));

export const visibility = later(() => z.enum(["public", "private"]));
export type Visibility = z.infer<typeof visibility>;

/** Value of X-Signature: exact, lower case. */
export const hmacSignature = later(() =>
  z.string().regex(/^hmac_sha256:[0-9a-f]{64}$/, "must be hmac_sha256: and 64 lower-case hexadecimal digits"),
);

/** Value of X-Repo, `owner/repo@ref`; some source hosts nest groups before the repository. */
export const repoReference = later(() =>
  z
    .string()
    .max(512)
    .regex(
      /^[A-Za-z0-9_.-]+(?:\/[A-Za-z0-9_.-]+)+@[A-Za-z0-9_][A-Za-z0-9_./+-]*$/,
      "must be owner/repo@tag, such as acme/tide-table@v1.4.0",
    )
    .refine((text) => !/(^|[/@])\.{1,2}(\/|@|$)/.test(text), "must not have . or .. as a part"),
);

export const versionRecord = later(() =>
  z.object({
    ...versionContent,
    ...versionMarks,
    repo: z.string().nullable(),
    /** Ed25519 key of the author, base64; omitted for a version signed with the signing secret only. */
    signer_public_key: z.string().optional(),
    /** State of the version; omitted for an open one. */
    state: versionState.optional(),
  }),
);
export type VersionRecord = z.infer<typeof versionRecord>;

export const targetSummary = later(() =>
  z.object({
    id: z.string(),
    name: z.string(),
    slug: z.string(),
    kind: marketplaceKind,
    description: z.string().nullable(),
    homepage: z.string().nullable(),
    repository: z.string().nullable(),
    visibility,
    owner: z.string(),
    /** Empty when no version has been published. */
    latest_version: z.string(),
    created_at: z.string(),
  }),
);
export type TargetSummary = z.infer<typeof targetSummary>;

/**
 * Detail record: the newest versions and the yanked ones, best first in the order of "latest". The others are in the
 * pages of `versions_url`, a path of the hub.
 */
export const targetDetail = later(() =>
  targetSummary.extend({
    versions: z.array(versionRecord),
    versions_url: z.string(),
    ...latestFacts,
  }),
);
export type TargetDetail = z.infer<typeof targetDetail>;

/** Description of a target, which pages show as text. */
export const targetDescription = later(() => z.string().max(4096));

/** Fields of a target that its owner may change. */
export const targetChanges = later(() =>
  z.strictObject({
    name: z.string().min(1).max(255).optional(),
    description: targetDescription.nullish(),
    homepage: z
      .url({ protocol: /^https?$/ })
      .max(1024)
      .nullish(),
    repository: z
      .url({ protocol: /^https?$/ })
      .max(1024)
      .nullish(),
    visibility: visibility.optional(),
  }),
);
export type TargetChanges = z.infer<typeof targetChanges>;

/** Author's Ed25519 signature over an archive, and the key that made it. */
export const authorSignature = later(() =>
  z.strictObject({ signature_ed25519: base64Of(64), signer_public_key: base64Of(32) }),
);
export type AuthorSignature = z.infer<typeof authorSignature>;

/** Text fields of a marketplace publication; the file part is `archive`. */
export const versionFields = later(() =>
  z.object({
    version: versionLabel,
    signature: hmacSignature,
    /** Both, or neither. */
    ...authorSignature.partial().shape,
    repo: repoReference.optional(),
    visibility: visibility.optional(),
    ...stageField,
  }),
);
export type VersionFields = z.infer<typeof versionFields>;

export const ARCHIVE_PART = { name: "archive", contentType: "application/zip" } as const;

/** Asks the hub to fetch the archive from a source host. */
export const importRequest = later(() =>
  z.strictObject({
    version: versionLabel,
    repo: repoReference,
    /** One of the hub's source hosts. Default: the first. */
    host: z.string().min(1).max(255).optional(),
    visibility: visibility.optional(),
    /** Whether the version is staged (docs/contract/staging.md). */
    stage: z.boolean().optional(),
  }),
);
export type ImportRequest = z.infer<typeof importRequest>;

export const yankRequest = later(() => z.strictObject({ reason: z.string().max(1024).nullish() }));

export const grantRequest = later(() => z.strictObject({ owner: z.string().min(1).max(255) }));
export const grantRecord = later(() => z.object({ owner: z.string(), created_at: z.string() }));
export type GrantRecord = z.infer<typeof grantRecord>;

const { version, status, ...outcome } = hostFacts;

/** Stored deployment report, which is also a host's record in the fleet view. */
export const reportRecord = later(() =>
  z.object({
    id: z.string(),
    /** Owner of the key that reported. */
    deployer_id: z.string(),
    kind: marketplaceKind,
    slug,
    version,
    host_id: hostId,
    status,
    repo: z.string().nullable(),
    ...outcome,
  }),
);
export type ReportRecord = z.infer<typeof reportRecord>;

/** Signing secret, which is stored and never returned. */
export const signingKeyRequest = later(() => z.strictObject({ secret: z.string().min(16).max(4096) }));
export const signingKeyRecord = later(() => z.object({ owner: z.string(), created_at: z.string() }));
export type SigningKeyRecord = z.infer<typeof signingKeyRecord>;
