import * as z from "zod";
import { publicKeyHex } from "../identifiers.ts";
import { later } from "../later.ts";
import { MAX_ROOT_VERSION } from "./marks.ts";

/**
 * Trust roots: which signers hosts follow, in the form of TUF 1.0's root metadata (docs/contract/trust.md). Two of its
 * roles count: `root` says who may make the next version, `targets` who may sign what hosts install.
 */

/** Most keys of a role, and most signatures of a document. */
const MAX_ROLE_KEYS = 16;
const MAX_SIGNATURES = 32;
/** Years between the making of a root and the date on it, which only `sealift doctor` reads. */
export const ROOT_YEARS = 10;

export const rootId = later(() =>
  z.string().regex(/^rt_[0-9a-f]{32}$/, "must be rt_ and 32 lower-case hexadecimal digits"),
);

export const rootVersion = later(() => z.int().min(1).max(MAX_ROOT_VERSION));

const keyId = later(() => z.string().regex(/^[0-9a-f]{64}$/, "must be 64 lower-case hexadecimal digits"));

const ed25519Key = later(() =>
  z.strictObject({
    keytype: z.literal("ed25519"),
    scheme: z.literal("ed25519"),
    keyval: z.strictObject({ public: publicKeyHex }),
  }),
);

const p256Key = later(() =>
  z.strictObject({
    keytype: z.literal("ecdsa"),
    scheme: z.literal("ecdsa-sha2-nistp256"),
    keyval: z.strictObject({ public: z.string().max(512).startsWith("-----BEGIN PUBLIC KEY-----") }),
  }),
);

/** Public key: Ed25519 in hexadecimal, or P-256 in PEM. */
export const rootKey = later(() => z.discriminatedUnion("keytype", [ed25519Key, p256Key]));
export type RootKey = z.infer<typeof rootKey>;

const keyIds = later(() => z.array(keyId).max(MAX_ROLE_KEYS));
const unused = later(() => z.strictObject({ keyids: z.array(keyId).max(0), threshold: z.literal(1) }));

/** Name of a key for people, such as that of its holder: one printable line. */
export const keyName = later(() =>
  z
    .string()
    .min(1)
    .max(64)
    .regex(/^[^\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]+$/u, "must be one printable line"),
);

/** The part of a root that its signatures are over, as canonical JSON. */
export const signedRoot = later(() =>
  z.strictObject({
    _type: z.literal("root"),
    spec_version: z.string().regex(/^1\.0\.\d{1,4}$/, "must be a version 1.0 of the specification"),
    consistent_snapshot: z.boolean(),
    version: rootVersion,
    /** Other readers know no year 0. */
    expires: z.iso
      .datetime({ precision: 0 })
      .refine((text) => !text.startsWith("0000"), "must be in the years 1 to 9999"),
    keys: z.record(keyId, rootKey),
    roles: z.strictObject({
      root: z.strictObject({ keyids: keyIds.min(1), threshold: z.int().min(1).max(MAX_ROLE_KEYS) }),
      /** A version has one signature, so one signer is enough. */
      targets: z.strictObject({ keyids: keyIds.min(1), threshold: z.literal(1) }),
      timestamp: unused,
      snapshot: unused,
    }),
    /** Id that every version of this root repeats. */
    "x-sealift-root": rootId,
    /** Names of keys for people, by key id. */
    "x-sealift-names": z.record(keyId, keyName).optional(),
  }),
);
export type SignedRoot = z.infer<typeof signedRoot>;

export const rootSignature = later(() =>
  z.strictObject({
    keyid: keyId,
    /** 64 bytes of Ed25519, or the DER of an ECDSA signature; hexadecimal. */
    sig: z.string().regex(/^(?:[0-9a-f]{2}){8,80}$/, "must be lower-case hexadecimal"),
  }),
);

export const rootDocument = later(() =>
  z.strictObject({
    signatures: z.array(rootSignature).max(MAX_SIGNATURES),
    signed: signedRoot,
  }),
);
export type RootDocument = z.infer<typeof rootDocument>;
