import * as z from "zod";
import { sha256Hex, timestamp } from "../identifiers.ts";

/** Fields that say which bytes a version has, in every answer that describes one. */
export const versionContent = {
  version: z.string(),
  created_at: z.string(),
  /** Size of the stored artifact or archive, in bytes. */
  size_bytes: z.int().nonnegative(),
  /** SHA-256 of the stored bytes. */
  sha256: sha256Hex,
};
export type VersionContent = z.infer<z.ZodObject<typeof versionContent>>;

/** Advice against a version that stays the latest one and deployable: hosts that deploy it warn. */
export const deprecation = z.object({
  message: z.string().max(1024),
  /** The version to take in its place. */
  replaced_by: z.string().max(128).nullable(),
});
export type Deprecation = z.infer<typeof deprecation>;

/** Fields that say what a person has said of a version. */
export const versionMarks = {
  is_yanked: z.boolean(),
  yanked_reason: z.string().nullable(),
  /** Advice against the version; left out where there is none. */
  deprecated: deprecation.optional(),
  /** When somebody approved its bytes; left out for a version that nobody has approved. */
  approved_at: timestamp.optional(),
};
export type VersionMarks = z.infer<z.ZodObject<typeof versionMarks>>;

/** Fields that say who published a version and who approved it, for those who manage or deploy it. */
export const versionOrigin = {
  /** Name of the key that published it; null where that is not known any more. */
  published_by: z.string().nullish(),
  /** Name of the key that approved its bytes; null for a version that nobody has approved. */
  approved_by: z.string().nullish(),
};

/** A version in a detail record, as a client reads it: other hubs know the label alone. */
export const shownVersion = z.looseObject({
  version: z.string(),
  sha256: z.string().optional(),
  signer_public_key: z.string().optional().catch(undefined),
  is_yanked: z.boolean().optional(),
  approved_at: z.string().optional().catch(undefined),
  deprecated: deprecation.optional().catch(undefined),
});
