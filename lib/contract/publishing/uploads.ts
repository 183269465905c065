import * as z from "zod";
import { sha256Hex } from "../identifiers.ts";
import { later } from "../later.ts";

/** Uploads that go on after a cut connection (docs/contract/uploads.md). */

/** Random name that a publisher gives an upload: at least 128 bits, base64url. */
export const uploadId = later(() =>
  z.string().regex(/^[A-Za-z0-9_-]{22,64}$/, "must be 22 to 64 characters of base64url"),
);

/** Field of a form whose file the hub keeps when the connection is cut. It comes before the file. */
export const uploadFields = later(() => z.object({ upload_id: uploadId }));

/** Fields before the rest of a file. */
export const restFields = later(() =>
  uploadFields.extend({
    /** Bytes that the hub has, as decimal digits. */
    upload_offset: z
      .string()
      .regex(/^(?:0|[1-9]\d{0,14})$/, "must be a number of bytes")
      .transform(Number),
    /** SHA-256 of these bytes. */
    upload_sha256: sha256Hex,
  }),
);
export type UploadFields = Partial<z.input<typeof restFields>>;

/** File part that continues a file, in the place of the whole. A hub that does not know it refuses the form. */
export const REST_PART = "rest";

/** Answer to how much of an upload the hub has. */
export const uploadState = later(() =>
  z.object({
    upload_id: z.string(),
    /** Bytes of the file that are kept: the next request continues there. */
    upload_offset: z.int().positive(),
  }),
);
