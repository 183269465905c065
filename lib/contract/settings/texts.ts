import * as z from "zod";
import { envName, hostId, projectId, publicKeyHex, sha256Hex, slug, timestamp } from "../identifiers.ts";
import { later } from "../later.ts";
import { labels } from "../surfaces/labels.ts";
import { MAX_APPLICATIONS, MAX_SETTING_NAME, MAX_SETTINGS_BYTES } from "./limits.ts";

/**
 * Texts about hosts that operators and hosts sign (docs/contract/settings.md). Each begins with its type `t`, so that
 * none can be taken for another.
 */

/** Most hosts that terms may name. */
const MAX_NAMED = 1000;
/** Most values that an outcome may say were not used. */
export const MAX_IGNORED = 64;

const number = later(() => z.int().min(1).max(Number.MAX_SAFE_INTEGER));

/** Terms of an invite: what the operator promises to the hosts that it lets in, and what the hub cannot change. */
export const inviteTerms = later(() =>
  z.strictObject({
    t: z.literal("sealift-invite"),
    v: z.literal(1),
    project: projectId,
    /** Random, so that no two invites have the same terms. */
    nonce: z.string().regex(/^[0-9a-f]{32}$/, "must be 32 lower-case hexadecimal digits"),
    /** Public half of the key by which hosts of this invite sign their cards. */
    invite_key: publicKeyHex,
    /** Public key of the operator, which hosts pin. */
    operator: publicKeyHex,
    labels,
    /** The only names under which hosts may join; any name without it. */
    hosts: z.array(hostId).min(1).max(MAX_NAMED).optional(),
    uses: z.int().min(1).max(100_000),
    expires_at: timestamp,
    /** Fingerprint of what hosts pin, as it stands in the line. */
    pins: z.string().regex(/^(?:root-)?[0-9a-f]{32}$/, "must be 32 hexadecimal digits, after root- for a trust root"),
  }),
);
export type InviteTerms = z.infer<typeof inviteTerms>;

/** Card of a host: its public keys, its name, and the invite that it came with. */
export const hostCard = later(() =>
  z.strictObject({
    t: z.literal("sealift-host"),
    v: z.literal(1),
    /** SHA-256 of the terms' signed part; null for a host that came without any. */
    terms: sha256Hex.nullable(),
    project: projectId,
    /** Name under which it joined. */
    name: hostId,
    x25519: publicKeyHex,
    ed25519: publicKeyHex,
  }),
);
export type HostCard = z.infer<typeof hostCard>;

/** Name of a setting. */
export const settingName = later(() => envName.max(MAX_SETTING_NAME));

/** Settings of one application, by name. */
const settingsOfOne = later(() =>
  z.record(
    settingName,
    z
      .string()
      .max(MAX_SETTINGS_BYTES)
      .refine((value) => value.isWellFormed() && !value.includes("\0"), "must be a text without a NUL"),
  ),
);

/** Settings of one host. */
export const settingsDocument = later(() =>
  z.strictObject({
    t: z.literal("sealift-settings"),
    v: z.literal(1),
    project: projectId,
    /** Fingerprint of the host's public keys. */
    to: sha256Hex,
    operator: publicKeyHex,
    /** Higher than that of any document before. */
    number,
    /** When it was made. It decides nothing. */
    made_at: timestamp,
    /** Settings by application and name. */
    apps: z
      .record(slug, settingsOfOne)
      .refine(
        (apps) => Object.keys(apps).length <= MAX_APPLICATIONS,
        `must be ${MAX_APPLICATIONS} applications at most`,
      ),
  }),
);
export type SettingsDocument = z.infer<typeof settingsDocument>;

/** States of a document on its host. */
export const OUTCOME_STATES = ["applied", "failed", "not_back"] as const;

/** Code of the reason for which a host did not use something: people read it on terminals, so that it is a word. */
const outcomeCode = later(() => z.string().regex(/^[a-z][a-z0-9_]{0,63}$/, "must be a code"));
/** Name of a setting that a host did not use, as `web.NAME`, or id of such an application. */
const ignoredName = later(() =>
  z
    .string()
    .regex(
      /^[a-z0-9][a-z0-9_.-]{0,127}(?:\.[A-Za-z_][A-Za-z0-9_]{0,127})?$/,
      "must be an application, or one with a full stop and the name of a setting",
    ),
);

/** Outcome of a document on its host. */
export const settingsOutcome = later(() =>
  z.strictObject({
    t: z.literal("sealift-outcome"),
    v: z.literal(1),
    project: projectId,
    /** Fingerprint of the host that says it. */
    to: sha256Hex,
    number,
    /** SHA-256 of the document's signed part: two operators that a hub shows different documents see it here. */
    digest: sha256Hex,
    state: z.enum(OUTCOME_STATES),
    /** Code of the failure; null without one. */
    code: outcomeCode.nullable(),
    /** Values that were not used, each with a code. */
    ignored: z
      .array(z.strictObject({ name: ignoredName, code: outcomeCode }))
      .max(MAX_IGNORED)
      .default([]),
    /** When it came to that on the host's clock. */
    at: timestamp,
  }),
);
export type SettingsOutcome = z.infer<typeof settingsOutcome>;

/** Signature of a text, with the public key that verifies it. Ed25519, both in hexadecimal. */
export const textSignature = later(() =>
  z.strictObject({
    key: publicKeyHex,
    sig: z.string().regex(/^[0-9a-f]{128}$/, "must be 128 lower-case hexadecimal digits"),
  }),
);
export type TextSignature = z.infer<typeof textSignature>;

/** A signed text, as it travels: its signatures are over the canonical JSON of `signed`. */
export const signedEnvelope = later(() =>
  z.strictObject({
    signed: z.looseObject({ t: z.string() }),
    signatures: z.array(textSignature).min(1).max(2),
  }),
);
