import * as z from "zod";
import { hostId, sha256Hex, timestamp } from "../identifiers.ts";
import { later } from "../later.ts";
import { pageQuery } from "../paging.ts";
import { errorBody } from "../route.ts";
import { MAX_BATCH, MAX_CARD_BYTES, MAX_OUTCOME_BYTES, MAX_SEALED_TEXT, MAX_TERMS_BYTES } from "./limits.ts";

/** Records of hosts' settings, which the hub keeps and cannot read (docs/contract/settings.md). */

const number = later(() => z.int().min(1).max(Number.MAX_SAFE_INTEGER));
// Its length comes first: nothing looks at the letters of a text that is too long.
const sealed = later(() => z.string().min(1).max(MAX_SEALED_TEXT, { abort: true }).base64());

/** Number that `latest` says: it grows with each upload to the project, by more than one after a pause. */
export const settingsVersion = later(() => z.int().min(1).max(Number.MAX_SAFE_INTEGER));

export const cardUpload = later(() =>
  z.strictObject({
    /** The card, as the host has signed it. */
    card: z.string().min(1).max(MAX_CARD_BYTES),
    /** The terms that it came with, as the operator has signed them; omitted for a host that came without any. */
    terms: z.string().min(1).max(MAX_TERMS_BYTES).optional(),
  }),
);
export type CardUpload = z.infer<typeof cardUpload>;

export const outcomeUpload = later(() =>
  z.strictObject({
    /** Outcome of the settings, as the host has signed it. */
    outcome: z.string().min(1).max(MAX_OUTCOME_BYTES),
  }),
);

export const settingsUpload = later(() =>
  z.strictObject({
    documents: z
      .array(
        z.strictObject({
          host_id: hostId,
          /** Fingerprint of the host that can open it. */
          to: sha256Hex,
          number,
          /** Number that the hub had when this one was made; null for none. Another one is a conflict. */
          follows: number.nullable(),
          /** The sealed document, base64. */
          sealed,
        }),
      )
      .min(1)
      .max(MAX_BATCH)
      .refine((all) => new Set(all.map(({ host_id }) => host_id)).size === all.length, "names a host twice")
      .refine(
        (all) => all.every(({ number: own, follows }) => own > (follows ?? 0)),
        "must have higher numbers than follows",
      ),
  }),
);
export type SettingsUpload = z.infer<typeof settingsUpload>;

export const settingsUploaded = later(() =>
  z.object({
    /** Number that `latest` says from now on. */
    settings_version: settingsVersion,
  }),
);

/** Refusal of an upload: nothing of it was taken. */
export const settingsConflict = later(() =>
  errorBody.extend({
    /** Hosts whose documents do not follow those of the hub, with the numbers that the hub has; null for none. */
    hosts: z.array(z.object({ host_id: z.string(), number: z.int().nullable() })),
  }),
);

/** The document of the host that asks. */
export const ownSettings = later(() => z.object({ to: sha256Hex, number, sealed }));
export type OwnSettings = z.infer<typeof ownSettings>;

export const hostSettings = later(() =>
  z.object({
    host_id: z.string(),
    /** As the host has signed it; null before it has sent one. */
    card: z.string().nullable(),
    terms: z.string().nullable(),
    /** Number of the newest document, and whose key it was sealed to; null before the first. */
    number: z.int().nullable(),
    to: z.string().nullable(),
    uploaded_at: timestamp.nullable(),
    /** Id of the API key that uploaded it. */
    uploaded_by: z.string().nullable(),
    /** Outcome of it, as the host has signed it; null before the first. */
    outcome: z.string().nullable(),
    outcome_at: timestamp.nullable(),
    /** Reason for which an operator has taken it out of service; omitted for none. */
    out_of_service: z.string().optional(),
  }),
);
export type HostSettings = z.infer<typeof hostSettings>;

export const settingsQuery = later(() =>
  pageQuery.extend({
    /** Restricts the list to one host. */
    host_id: z.string().max(255).optional(),
  }),
);
