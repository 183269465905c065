import { artifactError } from "../../contract/errors.ts";
import { MAX_CARD_BYTES } from "../../contract/settings/limits.ts";
import { type HostCard, hostCard } from "../../contract/settings/texts.ts";
import { isUsableReader } from "./age.ts";
import { hostFingerprint, type HostKey } from "./host-key.ts";
import { readSigned, type SignedKind, type SignedText, signText } from "./signed-text.ts";
import { readTerms, type SignedTerms } from "./terms.ts";

const KIND: SignedKind<HostCard> = {
  schema: hostCard,
  maxBytes: MAX_CARD_BYTES,
  name: "The card of the host",
  code: "card_invalid",
};

/** Card whose host has its keys. */
export interface Card extends SignedText<HostCard> {
  fingerprint: string;
}

/**
 * Makes the card of a host.
 *
 * @param invited the digest of the terms, and the seed of the invite; undefined for a host that came without any
 */
export function makeCard(
  { project, name }: { project: string; name: string },
  key: HostKey,
  invited: { digest: string; seed: Uint8Array } | undefined,
): string {
  const { ed25519, x25519 } = key;
  const card: HostCard = { t: "sealift-host", v: 1, terms: invited?.digest ?? null, project, name, x25519, ed25519 };
  return signText(card, [...(invited === undefined ? [] : [invited.seed]), key.seed]);
}

/**
 * Returns the fingerprint of the keys that a card names, without a look at its signatures: for a host whose keys are
 * known by another way.
 *
 * @throws ArtifactError `card_invalid`
 */
export const fingerprintIn = (text: string): string => hostFingerprint(readSigned(text, KIND).signed);

/** Reads a card, and verifies that its host has the keys. @throws ArtifactError `card_invalid` */
export function readCard(text: string): Card {
  const card = readSigned(text, KIND);
  if (!card.isSignedBy(card.signed.ed25519)) throw invalid("the key that it names has not signed it");
  if (!isUsableReader(Buffer.from(card.signed.x25519, "hex")))
    throw invalid("everybody could read what is sealed to it");
  return { ...card, fingerprint: hostFingerprint(card.signed) };
}

/** Operator whose invites count. */
interface TermsOwner {
  /** Public key, hexadecimal. */
  operator: string;
  project: string;
  /** Reads and verifies terms, for callers that keep those of an invite with many hosts. Default: {@link readTerms}. */
  read?: typeof readTerms;
}

/**
 * Reads a card with its terms, and verifies that an invite of the operator let its host in: the terms are his, the card
 * names them, and the key of the invite has signed it.
 *
 * @returns undefined in place of terms for a host that came without any
 * @throws ArtifactError `card_invalid`, `terms_invalid`
 */
export function invitedCard(
  text: string,
  termsText: string | null,
  { operator, project, read = readTerms }: TermsOwner,
): { card: Card; terms: SignedTerms | undefined } {
  const card = readCard(text);
  const { signed } = card;
  if (signed.project !== project) throw invalid(`it is of the project ${signed.project}`);
  if (signed.terms === null) return { card, terms: undefined };
  if (termsText === null) throw invalid("the hub does not have the terms that it names");
  const terms = read(termsText);
  if (terms.digest !== signed.terms) throw invalid("it names other terms than those beside it");
  if (terms.signed.operator !== operator) throw invalid("another operator has invited its host");
  if (terms.signed.project !== project) throw invalid(`its terms are of the project ${terms.signed.project}`);
  if (!card.isSignedBy(terms.signed.invite_key)) throw invalid("the key of its invite has not signed it");
  const { hosts } = terms.signed;
  if (hosts !== undefined && !hosts.includes(signed.name)) throw invalid(`its invite does not name ${signed.name}`);
  return { card, terms };
}

const invalid = (why: string) =>
  artifactError("card_invalid", `The card of the host does not count: ${why}.`, {
    hint: "`sealift host key` on the host prints a line by which you can accept it.",
  });
