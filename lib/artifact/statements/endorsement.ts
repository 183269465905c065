import { type Endorsed, endorsement, ENDORSEMENT_TYPE } from "../../contract/statements/statements.ts";
import { Ed25519Verifier, signMessage } from "../signatures/ed25519.ts";

/** Returns the bytes that a DSSE signature is over: its pre-authentication encoding. */
export function preAuthEncoding(type: string, payload: Uint8Array): Buffer {
  const head = `DSSEv1 ${Buffer.byteLength(type)} ${type} ${payload.length} `;
  return Buffer.concat([Buffer.from(head), payload]);
}

const signedBytes = (endorsed: Endorsed): Buffer =>
  preAuthEncoding(ENDORSEMENT_TYPE, Buffer.from(endorsement(endorsed)));

/** Signs a statement as part of its version (docs/contract/statements.md#the-endorsement). @param seed 32 bytes */
export const endorse = (endorsed: Endorsed, seed: Uint8Array): Uint8Array => signMessage(seed, signedBytes(endorsed));

/** Whether a signer has endorsed a statement. */
export const isEndorsed = (endorsed: Endorsed, signature: Uint8Array, publicKey: Uint8Array): boolean =>
  new Ed25519Verifier(publicKey, signature).update(signedBytes(endorsed)).verify();
