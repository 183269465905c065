import { createHash } from "node:crypto";
import type * as z from "zod";
import type { Code } from "../../contract/codes.ts";
import { artifactError } from "../../contract/errors.ts";
import { signedEnvelope, type TextSignature } from "../../contract/settings/texts.ts";
import { canonicalJson } from "../../support/documents/canonical-json.ts";
import { faultsOf } from "../../support/documents/faults.ts";
import type { DocumentLimits } from "../../support/documents/limits.ts";
import { safelyParsed } from "../../support/documents/safe-parse.ts";
import { parseSignedJson, roundedNumber } from "../../support/documents/signed-json.ts";
import { isSignedBy, publicKeyOf, signMessage } from "../signatures/ed25519.ts";

/** A text that somebody has signed: its form was checked, its signatures were not. */
export interface SignedText<T> {
  /** The part that its signatures are over. */
  signed: T;
  /** SHA-256 of the canonical JSON of what is signed, hexadecimal. */
  digest: string;
  /** The text as it was read. */
  text: string;
  /** Whether a key has signed it. @param key Ed25519, 32 bytes in hexadecimal */
  isSignedBy(key: string): boolean;
}

/** A kind of signed texts. */
export interface SignedKind<T> {
  schema: z.ZodType<T>;
  /** Most bytes of a text. */
  maxBytes: number;
  /** Its name in messages, such as "the card of a host". */
  name: string;
  /** Code of the error for a text of another form. */
  code: Code;
}

const digestOf = (message: string): string => createHash("sha256").update(message).digest("hex");

/** Signs a message with a seed of 32 bytes. */
export const signatureOf = (message: Uint8Array, seed: Uint8Array): TextSignature => ({
  key: Buffer.from(publicKeyOf(seed)).toString("hex"),
  sig: Buffer.from(signMessage(seed, message)).toString("hex"),
});

/** Tells whether a signature is one of a message, by the key that it names. */
export const isSignatureOf = (message: Uint8Array, { key, sig }: TextSignature): boolean =>
  isSignedBy(Buffer.from(key, "hex"), message, Buffer.from(sig, "hex"));

/**
 * Signs a text with each of the seeds (docs/contract/settings.md#signed-texts).
 *
 * @param signed JSON of whole numbers and texts
 * @returns one line of JSON
 */
export function signText(signed: object, seeds: readonly Uint8Array[]): string {
  const message = Buffer.from(canonicalJson(signed));
  return JSON.stringify({ signed, signatures: seeds.map((seed) => signatureOf(message, seed)) });
}

/**
 * Reads a signed text strictly: the exact keys of its kind, none of them twice, whole numbers only.
 *
 * @throws ArtifactError with the code of the kind
 */
export function readSigned<T>(text: string, kind: SignedKind<T>): SignedText<T> {
  const invalid = (why: string, cause?: unknown) =>
    artifactError(kind.code, `${kind.name} cannot be read: ${why}.`, {
      ...(cause !== undefined && { cause }),
      hint: "Nothing was changed. Whoever carries it has changed it, or it was made by a newer version.",
    });
  // 64 KiB of short settings have about 16,000 names and values.
  const limits: DocumentLimits = { maxBytes: kind.maxBytes, maxDepth: 8, maxNodes: 40_000, maxMarks: Infinity };
  let parsed: unknown;
  let message: string;
  try {
    parsed = parseSignedJson(text, limits);
    message = canonicalJson((parsed as { signed?: unknown } | null)?.signed ?? null);
  } catch (error) {
    throw invalid((error as Error).message, error);
  }
  const rounded = roundedNumber(text);
  if (rounded !== undefined) throw invalid(`it writes the number ${rounded.slice(0, 32)}, and not whole digits`);
  const envelope = safelyParsed(signedEnvelope, parsed, { jitless: true });
  if (!envelope.success) throw invalid(faultsOf(envelope.error).join("; "));
  const { signatures, signed } = envelope.data;
  const content = safelyParsed(kind.schema, signed, { jitless: true });
  // A value may be a secret: which one is wrong is said, and not what it is.
  if (!content.success) throw invalid(faultsOf(content.error).join("; "));
  const bytes = Buffer.from(message);
  return {
    signed: content.data,
    digest: digestOf(message),
    text,
    isSignedBy: (key) => {
      const own = signatures.filter((signature) => signature.key === key);
      return own.length === 1 && isSignatureOf(bytes, own[0]!);
    },
  };
}
