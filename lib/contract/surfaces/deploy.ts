import * as z from "zod";
import { hostFacts } from "../facts/host.ts";
import { deprecation, versionMarks, versionOrigin } from "../facts/version.ts";
import { base64Of, hostId, projectId, semverLabel, sha256Hex, timestamp, versionLabel } from "../identifiers.ts";
import { later } from "../later.ts";
import { reportedApplications } from "../reports/applications.ts";
import { rootVersion } from "../trust/root.ts";
import { labels } from "./labels.ts";
import { latestFacts } from "./latest-facts.ts";
import {
  healthField,
  reportedCode,
  reportedLog,
  reportedSteps,
  runningSignerField,
  runningVersionField,
} from "./reports.ts";
import { stageField, versionState } from "./version-state.ts";

/** Surface B on the wire (docs/contract/deploy.md). Binary fields are base64. */

export const authRequest = later(() =>
  z.object({ xdevkey: z.string().min(1).max(512), project_id: z.string().min(1).max(64) }),
);
export const authAnswer = later(() =>
  z.object({
    access_token: z.string().min(1).max(8192),
    /** Lifetime of the session in seconds; not in the contract. */
    expires_in: z.int().positive().optional(),
    /** Name of the project at the hub; not in the contract. */
    project_name: z.string().optional(),
  }),
);

/** A label as hubs store it: it goes into paths, file names and messages. */
export const latestAnswer = later(() => z.object({ version: versionLabel, ...latestFacts }));
export type LatestAnswer = z.infer<typeof latestAnswer>;

const signedBytes = {
  download_url: z.url({ protocol: /^https?$/ }),
  signature: base64Of(64),
  signer_public_key: base64Of(32),
};

/** Location of a delta that leads to the version from an earlier one (docs/contract/delta.md). */
const deltaLocation = later(() =>
  z.object({
    ...signedBytes,
    base_version: versionLabel,
    base_content_sha256: sha256Hex,
    size_bytes: z.int().nonnegative(),
  }),
);
export type DeltaLocation = z.infer<typeof deltaLocation>;
export const deltaLocations = later(() => z.array(deltaLocation).max(64));

export const locationAnswer = later(() =>
  z.object({
    ...signedBytes,
    /** SHA-256 of the ciphertext; not in the contract. Informative: the signature is what counts. */
    artifact_sha256: sha256Hex.optional(),
    content_sha256: sha256Hex.optional(),
    size_bytes: z.int().nonnegative().optional(),
    /** Newest version of the trust root that names the signers; not in the contract. */
    root_version: latestFacts.root_version,
    /** Marks that people gave the version; not in the contract. */
    ...z.object(versionMarks).partial().shape,
    yanked_reason: z.string().nullish(),
    /** Publisher and approver of the version; not in the contract. */
    ...versionOrigin,
    /** Deltas, smallest first; not in the contract. */
    deltas: deltaLocations.optional(),
  }),
);
/** @public of the wire */
export type ArtifactLocation = z.infer<typeof locationAnswer>;

/**
 * Location as a client reads it. Deltas are additions, which an agent parses separately with {@link deltaLocations}.
 * Malformed advice is ignored.
 */
export const hubLocation = later(() =>
  locationAnswer.extend({
    deltas: z.unknown().optional(),
    deprecated: deprecation.optional().catch(undefined),
    root_version: rootVersion.optional().catch(undefined),
  }),
);
export type HubLocation = z.infer<typeof hubLocation>;

export const authorizeRequest = later(() =>
  z.object({
    deployment_credential: z.string().min(1).max(512),
    artifact_signature: base64Of(64),
  }),
);
export const authorizeAnswer = later(() => z.object({ dek: base64Of(32) }));

/** Accepts an empty string, which independent agents send. */
const timestampOrEmpty = later(() => z.union([timestamp, z.literal("")]));

export const projectReport = later(() =>
  z.object({
    project_id: projectId,
    deployment_id: z.string().max(128),
    status: z.enum(["success", "failed"]),
    version: z.string().max(128),
    started_at: timestampOrEmpty,
    completed_at: timestampOrEmpty,
    plugins: z.array(z.record(z.string(), z.unknown())).max(10_000),
    host_id: hostId.optional(),
    error_message: z
      .string()
      .max(4096)
      .transform((text) => text.replaceAll("\0", "\ufffd"))
      .nullish(),
    code: reportedCode,
    rolled_back: z.boolean().optional(),
    running_version: runningVersionField,
    running_signer: runningSignerField,
    health: healthField,
    labels: labels.optional(),
    steps: reportedSteps,
    log: reportedLog,
    applications: reportedApplications,
  }),
);
export type ProjectReport = z.infer<typeof projectReport>;
export const projectReportAnswer = later(() => z.object({ deployment_id: z.string() }));

/** Text fields of the publish form; the file part is `artifact`. */
export const publishFields = later(() =>
  z.object({
    version: semverLabel,
    project_name: z.string().min(1).max(255),
    content_sha256: sha256Hex,
    dek: base64Of(32),
    signature: base64Of(64),
    signer_public_key: base64Of(32),
    ...stageField,
    /** Version of Sealift that its hosts need, as the publisher knows it (since 0.3.0). */
    needs_agent: semverLabel.optional().catch(undefined),
  }),
);
export type PublishFields = z.infer<typeof publishFields>;

export const ARTIFACT_PART = {
  name: "artifact",
  filename: "artifact.xdeploy",
  contentType: "application/octet-stream",
} as const;

/** Text fields of the form that publishes a delta; the file part is `artifact`. */
export const deltaFields = later(() =>
  z.object({
    base_version: versionLabel,
    base_content_sha256: sha256Hex,
    dek: base64Of(32),
    signature: base64Of(64),
    signer_public_key: base64Of(32),
  }),
);
export type DeltaFields = z.infer<typeof deltaFields>;

export const deltaResult = later(() =>
  z.object({
    delta_id: z.string(),
    version: z.string(),
    base_version: z.string(),
    size_bytes: z.int().nonnegative(),
  }),
);

/** File part of the form that stores a version's index. */
export const INDEX_PART = { name: "index", filename: "index.bin", contentType: "application/octet-stream" } as const;

export const indexResult = later(() => z.object({ version: z.string(), size_bytes: z.int().nonnegative() }));

export const indexesAnswer = later(() =>
  z.object({
    indexes: z.array(
      z.object({
        version: versionLabel,
        content_sha256: sha256Hex,
        /** Size of the sealed index, in bytes. */
        size_bytes: z.int().nonnegative(),
        /** Number of hosts that run this version. */
        hosts: z.int().nonnegative(),
      }),
    ),
  }),
);
export type IndexedVersions = z.infer<typeof indexesAnswer>["indexes"];

export const publishResult = later(() =>
  z.object({
    artifact_id: z.string(),
    project_id: z.string(),
    version: z.string(),
    content_sha256: z.string(),
    size_bytes: z.int().nonnegative(),
    created_at: z.string(),
    /** SHA-256 of the ciphertext; not in the contract. */
    artifact_sha256: sha256Hex.optional(),
    /** State of a version that is not open; not in the contract. */
    state: versionState.optional(),
  }),
);
export type PublishResult = z.infer<typeof publishResult>;

/** Host of a project's fleet, under its host id. */
export const projectHost = later(() =>
  z.object({
    host_id: z.string(),
    deployment_id: z.string(),
    ...hostFacts,
  }),
);
export type ProjectHost = z.infer<typeof projectHost>;
