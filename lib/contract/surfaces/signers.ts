import * as z from "zod";
import { later } from "../later.ts";

/** The register of a project's signers (docs/contract/keys.md#signers). */

/** Ed25519 public key in hexadecimal. */
export const signerKey = later(() =>
  z
    .string()
    .regex(/^[0-9a-fA-F]{64}$/, "must be a public key: 64 hexadecimal digits")
    .transform((text) => text.toLowerCase()),
);

export const addSignerRequest = later(() =>
  z.strictObject({
    public_key: signerKey,
    /** Name for people, such as that of the machine that holds the key. */
    name: z.string().max(255).optional(),
  }),
);
export const endSignerRequest = later(() => z.strictObject({ reason: z.string().min(1).max(1024).nullish() }));

export const signerRecord = later(() =>
  z.object({
    public_key: z.string(),
    name: z.string(),
    state: z.enum(["active", "retired", "revoked"]),
    added_at: z.string(),
    /** Owner of the key that added it. */
    added_by: z.string(),
    retired_at: z.string().nullable(),
    retired_by: z.string().nullable(),
    revoked_at: z.string().nullable(),
    revoked_by: z.string().nullable(),
    reason: z.string().nullable(),
  }),
);
export type SignerRecord = z.infer<typeof signerRecord>;
