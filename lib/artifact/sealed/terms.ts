import { randomBytes } from "node:crypto";
import { artifactError } from "../../contract/errors.ts";
import type { InviteSecret } from "../../contract/joining/token.ts";
import { MAX_TERMS_BYTES } from "../../contract/settings/limits.ts";
import { type InviteTerms, inviteTerms } from "../../contract/settings/texts.ts";
import { isUsablePublicKey, publicKeyOf } from "../signatures/ed25519.ts";
import { readSigned, type SignedKind, type SignedText, signText } from "./signed-text.ts";

const KIND: SignedKind<InviteTerms> = {
  schema: inviteTerms,
  maxBytes: MAX_TERMS_BYTES,
  name: "The terms of the invite",
  code: "terms_invalid",
};

const invalid = (why: string) =>
  artifactError("terms_invalid", `The terms of the invite do not count: ${why}.`, {
    hint: "Ask whoever invited this host, by another way than the hub. Nothing was joined or kept.",
  });

/** Terms that their operator has signed. */
export type SignedTerms = SignedText<InviteTerms>;

/** Terms of an invite that is about to be made. */
export interface NewTerms {
  /** The signed text, for the hub. */
  text: string;
  /** Third part of the line, for hosts alone. */
  secret: InviteSecret;
  digest: string;
}

/**
 * Makes the terms of an invite, with a fresh key by which its hosts sign their cards.
 *
 * @param operatorSeed 32 bytes
 */
export function makeTerms(
  terms: Omit<InviteTerms, "t" | "v" | "nonce" | "invite_key" | "operator">,
  operatorSeed: Uint8Array,
): NewTerms {
  const seed = randomBytes(32);
  const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");
  const signed: InviteTerms = {
    ...{ t: "sealift-invite", v: 1, ...terms },
    nonce: hex(randomBytes(16)),
    invite_key: hex(publicKeyOf(seed)),
    operator: hex(publicKeyOf(operatorSeed)),
  };
  const text = signText(signed, [operatorSeed]);
  const { digest } = readTerms(text);
  return { text, digest, secret: { digest: digest.slice(0, 32), seed } };
}

/** Reads terms, and verifies that the operator whom they name has signed them. @throws ArtifactError `terms_invalid` */
export function readTerms(text: string): SignedTerms {
  const terms = readSigned(text, KIND);
  const { operator, invite_key } = terms.signed;
  if (!isUsablePublicKey(Buffer.from(invite_key, "hex"))) throw invalid("no verifier accepts their invite_key");
  if (!terms.isSignedBy(operator)) throw invalid("the operator whom they name has not signed them");
  return terms;
}

/**
 * Reads the terms of a hub's answer, and compares them with the line that a person has handed over.
 *
 * @param text of the answer; undefined where it has none
 * @throws ArtifactError `terms_invalid`
 */
export function termsOfLine(text: string | undefined, { digest, seed }: InviteSecret): SignedTerms {
  if (text === undefined) throw invalid("the hub names none");
  const terms = readTerms(text);
  if (terms.digest.slice(0, 32) !== digest) throw invalid("they are not those that the line names");
  if (Buffer.from(publicKeyOf(seed)).toString("hex") !== terms.signed.invite_key)
    throw invalid("their invite_key is not that of the line");
  return terms;
}
