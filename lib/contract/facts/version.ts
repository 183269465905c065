import * as z from "zod";
import { sha256Hex, timestamp } from "../identifiers.ts";
import { later } from "../later.ts";

/** Fields of a version's bytes, in every answer that describes one. */
export const versionContent = {
  version: z.string(),
  created_at: z.string(),
  /** Size of the stored artifact or archive, in bytes. */
  size_bytes: z.int().nonnegative(),
  /** SHA-256 of the stored bytes. */
  sha256: sha256Hex,
};
export type VersionContent = z.infer<z.ZodObject<typeof versionContent>>;

/** Advice against a version, which stays the latest one and deployable: hosts that deploy it warn. */
export const deprecation = later(() =>
  z.object({
    message: z.string().max(1024),
    /** Version to use instead. */
    replaced_by: z.string().max(128).nullable(),
  }),
);
export type Deprecation = z.infer<typeof deprecation>;

/** Fields of what people have said about a version. */
export const versionMarks = {
  is_yanked: z.boolean(),
  yanked_reason: z.string().nullable(),
  /** Advice against the version; omitted without any. */
  deprecated: deprecation.optional(),
  /** Time when its bytes were approved; omitted for none. */
  approved_at: timestamp.optional(),
};
export type VersionMarks = z.infer<z.ZodObject<typeof versionMarks>>;

/** Fields of who published and approved a version, for those who manage or deploy it. */
export const versionOrigin = {
  /** Name of the key that published it; null if unknown. */
  published_by: z.string().nullish(),
  /** Name of the key that approved its bytes; null for none. */
  approved_by: z.string().nullish(),
};

/** Version in a detail record, as a client reads it: other hubs may state only the label. */
export const shownVersion = later(() =>
  z.looseObject({
    version: z.string(),
    sha256: z.string().optional(),
    signer_public_key: z.string().optional().catch(undefined),
    is_yanked: z.boolean().optional(),
    approved_at: z.string().optional().catch(undefined),
    deprecated: deprecation.optional().catch(undefined),
  }),
);
