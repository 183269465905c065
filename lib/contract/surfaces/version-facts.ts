import * as z from "zod";
import { sha256Hex } from "../identifiers.ts";

/** Fields that say which bytes a version has, in every answer that describes one. */
export const versionContent = {
  version: z.string(),
  created_at: z.string(),
  /** Of the stored artifact or archive. */
  size_bytes: z.int().nonnegative(),
  /** Of the stored bytes. */
  sha256: sha256Hex,
};
export type VersionContent = z.infer<z.ZodObject<typeof versionContent>>;

/** Fields that say what a person has said of a version. */
export const versionMarks = {
  is_yanked: z.boolean(),
  yanked_reason: z.string().nullable(),
};
export type VersionMarks = z.infer<z.ZodObject<typeof versionMarks>>;
