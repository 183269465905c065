import * as z from "zod";
import { versionMarks, versionOrigin } from "../facts/version.ts";
import { base64Of, hostId, sha256Hex, targetForm, timestamp, versionLabel } from "../identifiers.ts";
import { later } from "../later.ts";
import { textSignature } from "../settings/texts.ts";
import { statementsAnswer } from "../statements/statements.ts";
import { MAX_ROOT_BYTES } from "../trust/marks.ts";
import { rootVersion } from "../trust/root.ts";
import { MAX_KIT_HOSTS, MAX_KIT_REPORT_BYTES, MAX_KIT_ROOTS } from "./limits.ts";

/** Texts of kits (docs/contract/kits.md). Each begins with its type `t`, so that none can be taken for another. */

export const kitId = later(() => z.string().regex(/^kit_[0-9a-f]{32}$/, "must be the id of a kit"));

/** Facts of a kit, which its terms repeat. */
const kitFacts = {
  hub: z.url({ protocol: /^https?$/ }).max(2048),
  /** Target as people write it: `project:ID`, `plugin:SLUG` or `service:SLUG`. */
  target: targetForm,
  version: versionLabel,
  /** SHA-256 of `artifact.bin`. */
  digest: sha256Hex,
  made_at: timestamp,
  ends_at: timestamp,
};

/** Terms of a kit for one host, which stand inside the text that is sealed to it. */
export const kitTerms = later(() =>
  z.strictObject({
    t: z.literal("sealift-kit-terms"),
    v: z.literal(1),
    kit: kitId,
    /** Fingerprint of the host's public keys. */
    to: sha256Hex,
    ...kitFacts,
    /** SHA-256 of what the hub says of the version, as canonical JSON. */
    said: sha256Hex,
    /** Key of `artifact.bin`: AES-256-GCM. */
    key: base64Of(32),
  }),
);
export type KitTerms = z.infer<typeof kitTerms>;

/** Facts of a project's version, as surface B locates it. A newer hub may say more. */
export const kitProject = later(() =>
  z.object({
    signature: base64Of(64),
    signer_public_key: base64Of(32),
    content_sha256: sha256Hex,
    size_bytes: z.int().nonnegative(),
    root_version: rootVersion.optional(),
    ...z.object(versionMarks).partial().shape,
    yanked_reason: z.string().nullish(),
    ...versionOrigin,
  }),
);

/** Headers of a plugin's or service's archive, as surface A sends them. A newer hub may say more. */
export const kitArchive = later(() =>
  z.object({
    /** HMAC of the archive, as `X-Signature` has it behind its prefix. */
    hmac: sha256Hex,
    signature: z.string().max(200).nullable(),
    signer: z.string().max(200).nullable(),
    named: z.string().max(300).nullable(),
    repo: z.string().max(512).nullable(),
    /** Size of the archive, before it was sealed for the kit. */
    size_bytes: z.int().nonnegative(),
    sha256: sha256Hex,
    root_version: rootVersion.optional(),
  }),
);

/** The text of `kit.json`. */
export const kitText = later(() =>
  z
    .strictObject({
      t: z.literal("sealift-kit"),
      v: z.literal(1),
      id: kitId,
      ...kitFacts,
      project: kitProject.optional(),
      archive: kitArchive.optional(),
      /** Versions of the trust root, from the first one on. */
      roots: z.array(z.string().max(MAX_ROOT_BYTES)).max(MAX_KIT_ROOTS),
      /** Statements that the hub has of the version, for policies; null for a hub without statements. */
      facts: statementsAnswer.nullable(),
      /** The statement of the kind `provenance`, base64; null for none. */
      provenance: z.base64().nullable(),
      /** Signature of the hub over a {@link HubsWord}. */
      hub_signature: textSignature,
      /** Terms of each host, sealed to it, base64, by the host's fingerprint. */
      hosts: z
        .record(sha256Hex, z.string().max(16_384).base64())
        .refine((hosts) => Object.keys(hosts).length <= MAX_KIT_HOSTS, `must be ${MAX_KIT_HOSTS} hosts at most`),
    })
    .refine(
      ({ target, project, archive }) => (target.startsWith("project:") ? project && !archive : archive && !project),
      "must have the facts of a project or of an archive, as its target says",
    ),
);
export type KitText = z.infer<typeof kitText>;

/** Facts of a version that a hub says, and no signature of publisher or author covers. */
export type HubSays = Pick<KitText, "project" | "archive" | "facts">;

/** Facts of a kit that its hub signs: policies of hosts rest on them, and nobody else can state them in its name. */
export interface HubsWord extends Omit<KitTerms, "t" | "to" | "key"> {
  t: "sealift-kit-word";
}

/** A report that comes back from a host without network. */
export const kitReport = later(() =>
  z.strictObject({
    t: z.literal("sealift-report"),
    v: z.literal(1),
    /** Kit whose version the host deployed last. */
    kit: kitId,
    /** Fingerprint of the host that says it. */
    from: sha256Hex,
    target: targetForm,
    /** Name that the host gives itself. */
    host_id: hostId,
    /** The report as a host with network sends it: a JSON text. */
    report: z.string().max(MAX_KIT_REPORT_BYTES),
    /** Version of the trust root that the host follows, and its digest; null for none. */
    root: z.string().max(128).nullable(),
  }),
);
export type KitReport = z.infer<typeof kitReport>;
