import * as z from "zod";
import { hostId, projectId, publicKeyHex, sha256Hex, slug } from "../identifiers.ts";
import { later } from "../later.ts";
import { settingName } from "../settings/texts.ts";
import { labels } from "../surfaces/labels.ts";

/** First 64 bits of a digest, hexadecimal. */
const shortDigest = later(() => z.string().regex(/^[0-9a-f]{16}$/, "must be 16 lower-case hexadecimal digits"));

const number = later(() => z.int().nonnegative());

/** Host that gets settings. */
export const enrolledHost = later(() =>
  z.strictObject({
    name: hostId,
    x25519: publicKeyHex,
    ed25519: publicKeyHex,
    /** Labels of the terms that it came with, or those that a person gave. */
    labels,
    /** Whether `hosts:` may name it: its invite was for this name alone, or a person has accepted its line. */
    named: z.boolean(),
    /** SHA-256 of the terms that it came with; null for a host that a person has accepted. */
    terms: sha256Hex.nullable(),
    /** Number of its last document; 0 before the first. */
    number,
    /** SHA-256 of what is signed of that document. */
    document: sha256Hex.optional(),
    /** Content of that document, a key of `contents`. */
    content: shortDigest.optional(),
    /** Number of a document that was about to be uploaded when the program ended. */
    pending: number.optional(),
  }),
);
export type EnrolledHost = z.infer<typeof enrolledHost>;

/** Host that gets no settings any more, for good. */
export const removedHost = later(() =>
  z.strictObject({ name: hostId, removed: z.literal(true), terms: sha256Hex.nullable() }),
);
export type RemovedHost = z.infer<typeof removedHost>;

/** Digests of values by application and name. */
export const contentTable = later(() => z.record(slug, z.record(settingName, shortDigest)));
export type ContentTable = z.infer<typeof contentTable>;

/** `fleet.lock`, the roll: hosts that the operator knows, by the fingerprints of their keys. It holds no secret. */
export const fleetLock = later(() =>
  z.strictObject({
    t: z.literal("sealift-fleet-lock"),
    v: z.literal(1),
    project: projectId,
    /** Public key of the operator who applied last; null before the first time. */
    operator: publicKeyHex.nullable(),
    contents: z.record(shortDigest, contentTable),
    hosts: z.record(sha256Hex, z.union([removedHost, enrolledHost])),
  }),
);
export type FleetLock = z.infer<typeof fleetLock>;
