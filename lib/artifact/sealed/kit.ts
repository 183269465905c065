import { createHash } from "node:crypto";
import type * as z from "zod";
import type { Code } from "../../contract/codes.ts";
import { artifactError } from "../../contract/errors.ts";
import { MAX_KIT_BYTES, MAX_KIT_REPORT_BYTES, MAX_KIT_TERMS_BYTES } from "../../contract/kits/limits.ts";
import {
  type HubSays,
  type HubsWord,
  type KitReport,
  kitReport,
  type KitTerms,
  kitTerms,
  type KitText,
  kitText,
} from "../../contract/kits/texts.ts";
import type { TextSignature } from "../../contract/settings/texts.ts";
import { canonicalJson } from "../../support/documents/canonical-json.ts";
import { faultsOf } from "../../support/documents/faults.ts";
import type { DocumentLimits } from "../../support/documents/limits.ts";
import { safelyParsed } from "../../support/documents/safe-parse.ts";
import { parseSignedJson, roundedNumber } from "../../support/documents/signed-json.ts";
import { openSealed, seal } from "./age.ts";
import type { HostKey } from "./host-key.ts";
import { isSignatureOf, readSigned, signatureOf, type SignedKind, type SignedText, signText } from "./signed-text.ts";

const limitsOf = (maxBytes: number): DocumentLimits => ({
  maxBytes,
  maxDepth: 12,
  maxNodes: 40_000,
  maxMarks: Infinity,
});

const REPORT: SignedKind<KitReport> = {
  schema: kitReport,
  maxBytes: 2 * MAX_KIT_REPORT_BYTES,
  name: "The report",
  code: "kit_report_invalid",
};

/** Text of a kit that cannot be read, in the words of its reader. */
const unreadable = (what: string, why: string, code: Code = "kit_unreadable", cause?: unknown) =>
  artifactError(code, `${what} cannot be read: ${why}.`, {
    ...(cause !== undefined && { cause }),
    hint: "Nothing was changed. Copy the kit again, or have another one made with `sealift kit make`.",
  });

/**
 * Reads JSON strictly: whole numbers only, no key twice, and no value in a message.
 *
 * @returns what its schema knows, and all that was read
 */
function parsed<T extends z.ZodType>(
  schema: T,
  text: string,
  maxBytes: number,
  what: string,
): { data: z.output<T>; whole: unknown } {
  let whole: unknown;
  try {
    whole = parseSignedJson(text, limitsOf(maxBytes));
  } catch (error) {
    throw unreadable(what, "it is not JSON within the limits of a kit", "kit_unreadable", error);
  }
  const rounded = roundedNumber(text);
  if (rounded !== undefined) throw unreadable(what, "it has a number that is not written in whole digits");
  const result = safelyParsed(schema, whole, { jitless: true });
  if (!result.success) throw unreadable(what, faultsOf(result.error).slice(0, 5).join("; "));
  return { data: result.data, whole };
}

/** Text of `kit.json`, with the digest of what its hub says of the version. */
export interface ReadKit extends KitText {
  /** SHA-256 of {@link hubSaysText}, with the fields that only a newer version knows. */
  said: string;
}

/** Reads the text of `kit.json`. @throws ArtifactError `kit_unreadable` */
export function readKitText(text: string): ReadKit {
  const { data, whole } = parsed(kitText, text, MAX_KIT_BYTES, "kit.json");
  try {
    return { ...data, said: hubSaysDigest(hubSaysText(whole as HubSays)) };
  } catch (error) {
    throw unreadable("kit.json", (error as Error).message, "kit_unreadable", error);
  }
}

/** Returns what a hub says of a version as canonical JSON, which the terms of a kit have the digest of. */
export const hubSaysText = ({ project, archive, facts }: HubSays): string =>
  canonicalJson({ ...(project !== undefined && { project }), ...(archive !== undefined && { archive }), facts });

/** Returns the digest by which terms bind what a hub says. @param says as {@link hubSaysText} returns it */
export const hubSaysDigest = (says: string): string => createHash("sha256").update(says).digest("hex");

/** Facts that a hub signs of a kit. */
type Said = Omit<HubsWord, "t" | "v">;

const wordBytes = ({ kit, hub, target, version, digest, made_at, ends_at, said }: Said): Buffer => {
  const facts = { kit, hub, target, version, digest, made_at, ends_at, said };
  return Buffer.from(canonicalJson({ t: "sealift-kit-word", v: 1, ...facts } satisfies HubsWord));
};

/** Signs what a hub says of a kit. @param seed of the hub's key for kits, 32 bytes */
export const signHubsWord = (word: Said, seed: Uint8Array): TextSignature => signatureOf(wordBytes(word), seed);

/** Tells whether what a kit says is signed by the hub key that it names. */
export const isHubsWord = (kit: ReadKit): boolean =>
  isSignatureOf(wordBytes({ ...kit, kit: kit.id }), kit.hub_signature);

/** Seals the terms of a kit to a host. @param reader public X25519 key, hexadecimal @returns base64 */
export const sealKitTerms = (terms: Omit<KitTerms, "t" | "v">, reader: string): string =>
  seal(
    Buffer.from(JSON.stringify({ t: "sealift-kit-terms", v: 1, ...terms } satisfies KitTerms)),
    Buffer.from(reader, "hex"),
  ).toString("base64");

/** Opens the terms of a kit. @param sealed base64 @throws ArtifactError `sealed_invalid`, `kit_unreadable` */
export function openKitTerms(sealed: string, key: Pick<HostKey, "secret">): KitTerms {
  const text = openSealed(Buffer.from(sealed, "base64"), key.secret, MAX_KIT_TERMS_BYTES);
  return parsed(kitTerms, text.toString("utf8"), MAX_KIT_TERMS_BYTES, "What the kit has for this host").data;
}

/** Signs a report of a host. @returns one line of JSON */
export const signKitReport = (report: Omit<KitReport, "t" | "v" | "from">, key: HostKey): string =>
  signText({ t: "sealift-report", v: 1, from: key.fingerprint, ...report } satisfies KitReport, [key.seed]);

/** Reads a report, whose signatures are not checked. @throws ArtifactError `kit_report_invalid` */
export const parseKitReport = (text: string): SignedText<KitReport> => readSigned(text, REPORT);
