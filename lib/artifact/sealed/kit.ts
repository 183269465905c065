import type * as z from "zod";
import type { Code } from "../../contract/codes.ts";
import { artifactError } from "../../contract/errors.ts";
import { MAX_KIT_BYTES, MAX_KIT_REPORT_BYTES, MAX_KIT_TERMS_BYTES } from "../../contract/kits/limits.ts";
import {
  type KitReport,
  kitReport,
  type KitTerms,
  kitTerms,
  type KitText,
  kitText,
} from "../../contract/kits/texts.ts";
import { faultsOf } from "../../support/documents/faults.ts";
import type { DocumentLimits } from "../../support/documents/limits.ts";
import { safelyParsed } from "../../support/documents/safe-parse.ts";
import { parseSignedJson, roundedNumber } from "../../support/documents/signed-json.ts";
import { openSealed, seal } from "./age.ts";
import type { HostKey } from "./host-key.ts";
import { readSigned, type SignedKind, type SignedText, signText } from "./signed-text.ts";

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

/** Reads JSON strictly: whole numbers only, no key twice, and no value in a message. */
function parsed<T extends z.ZodType>(schema: T, text: string, maxBytes: number, what: string): z.output<T> {
  let value: unknown;
  try {
    value = parseSignedJson(text, limitsOf(maxBytes));
  } catch (error) {
    throw unreadable(what, "it is not JSON within the limits of a kit", "kit_unreadable", error);
  }
  const rounded = roundedNumber(text);
  if (rounded !== undefined) throw unreadable(what, "it has a number that is not written in whole digits");
  const result = safelyParsed(schema, value, { jitless: true });
  if (!result.success) throw unreadable(what, faultsOf(result.error).slice(0, 5).join("; "));
  return result.data;
}

/** Reads the text of `kit.json`. @throws ArtifactError `kit_unreadable` */
export const readKitText = (text: string): KitText => parsed(kitText, text, MAX_KIT_BYTES, "kit.json");

/** Seals the terms of a kit to a host. @param reader public X25519 key, hexadecimal @returns base64 */
export const sealKitTerms = (terms: Omit<KitTerms, "t" | "v">, reader: string): string =>
  seal(
    Buffer.from(JSON.stringify({ t: "sealift-kit-terms", v: 1, ...terms } satisfies KitTerms)),
    Buffer.from(reader, "hex"),
  ).toString("base64");

/** Opens the terms of a kit. @param sealed base64 @throws ArtifactError `sealed_invalid`, `kit_unreadable` */
export function openKitTerms(sealed: string, key: Pick<HostKey, "secret">): KitTerms {
  const text = openSealed(Buffer.from(sealed, "base64"), key.secret, MAX_KIT_TERMS_BYTES);
  return parsed(kitTerms, text.toString("utf8"), MAX_KIT_TERMS_BYTES, "What the kit has for this host");
}

/** Signs a report of a host. @returns one line of JSON */
export const signKitReport = (report: Omit<KitReport, "t" | "v" | "from">, key: HostKey): string =>
  signText({ t: "sealift-report", v: 1, from: key.fingerprint, ...report } satisfies KitReport, [key.seed]);

/** Reads a report, whose signatures are not checked. @throws ArtifactError `kit_report_invalid` */
export const parseKitReport = (text: string): SignedText<KitReport> => readSigned(text, REPORT);
