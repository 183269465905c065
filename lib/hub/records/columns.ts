import * as z from "zod";
import { BLOB_ID } from "../base/identity.ts";

/** Rules of columns, which rows of a backup or of another database are checked against. */

/** Text; PostgreSQL stores no NUL. */
export const text = z.string().regex(/^[^\0]*$/, "must not hold the character NUL");
export const name = text.min(1);
export const time = z.iso.datetime({ precision: 3 });
export const base64 = z.base64().min(1);
export const count = z.int().nonnegative();
export const yes = z.int().min(0).max(1);
export const json = text.refine((value) => {
  try {
    return typeof JSON.parse(value) === "object";
  } catch {
    return false;
  }
}, "must be JSON");
export const blobId = z.string().regex(BLOB_ID, "must be the id of a blob");
export const projectId = z.string().regex(/^[a-z]{3}_[A-Za-z0-9]{10,40}$/, "must be the id of a project");
