import type { FastifyRequest } from "fastify";
import type * as z from "zod";
import { Ed25519Verifier, R_BYTES } from "../../artifact/signatures/ed25519.ts";
import { base64Of } from "../../contract/identifiers.ts";
import { HEADERS } from "../../contract/surfaces/headers.ts";
import { HubError, unprocessable } from "../base/errors.ts";
import type { IncomingBlob } from "../blobs/port.ts";
import { faultsAnswer } from "../http/validation.ts";
import { decode, type SignedFields } from "./signed-bytes.ts";

/** Signature and the public key that made it, base64. */
export type Signed = Pick<SignedFields, "signature" | "signer_public_key">;
/** Extracts the signature from validated fields, as far as they have arrived. */
type SignedIn = (fields: Record<string, unknown>) => Partial<Signed>;

/** Returns R ‖ A: all that a verifier needs before the first byte. */
const startOf = ({ signature, signer_public_key: key }: Signed): Buffer =>
  Buffer.concat([decode(signature).subarray(0, R_BYTES), decode(key)]);

/**
 * Verifies the file of a form as it passes, if a header or an earlier field gives the start of its signature; otherwise
 * by reading it again (docs/contract/deploy.md#publish).
 */
export class PassingSignature {
  readonly #schema: z.ZodObject;
  readonly #signedIn: SignedIn;
  readonly #header: string | string[] | undefined;
  #announced: Buffer | undefined;
  #verifier: Ed25519Verifier | undefined;

  /** @param schema of the form's fields @param signedIn where their names differ from {@link SignedFields} */
  constructor({ headers }: FastifyRequest, schema: z.ZodObject, signedIn: SignedIn = (fields) => fields) {
    this.#schema = schema;
    this.#signedIn = signedIn;
    this.#header = headers[HEADERS.signatureStart.toLowerCase()];
  }

  /**
   * Starts with the file. Fields that came before it are validated first.
   *
   * @param isWhole false for the rest of a file: then {@link check} reads all of it
   * @returns a function that takes its bytes; undefined when its signature is not known yet
   * @throws HubError for wrong fields, 422 for a malformed header: thrown only here, where the rest of the form is
   *   still read, so that the sender can read the answer
   */
  begin(fields: Record<string, string>, isWhole = true): ((chunk: Uint8Array) => void) | undefined {
    if (this.#header !== undefined) {
      const header = base64Of(64).safeParse(this.#header);
      if (!header.success) throw unprocessable(`${HEADERS.signatureStart}: must be the base64 of 64 bytes.`);
      this.#announced = decode(header.data);
    }
    const parsed = this.#schema.partial().safeParse(fields, { reportInput: true });
    if (!parsed.success) throw faultsAnswer(parsed.error);
    const { signature, signer_public_key: key } = this.#signedIn(parsed.data);
    const known = signature === undefined || key === undefined ? undefined : { signature, signer_public_key: key };
    if (known !== undefined) this.#agree(known);
    const start = this.#announced ?? (known && startOf(known));
    if (start === undefined || !isWhole) return undefined;
    const verifier = new Ed25519Verifier(start.subarray(R_BYTES), start.subarray(0, R_BYTES));
    this.#verifier = verifier;
    return (chunk) => void verifier.update(chunk);
  }

  /**
   * Finishes with the form, whose fields decide.
   *
   * @throws HubError 400 for a signature that does not verify, 422 for another one than the header announced
   */
  async check(fields: Signed, blob: IncomingBlob): Promise<void> {
    this.#agree(fields);
    const signature = decode(fields.signature);
    let verifier = this.#verifier;
    if (verifier === undefined) {
      verifier = new Ed25519Verifier(decode(fields.signer_public_key), signature);
      for await (const chunk of blob.readBack()) verifier.update(chunk);
    }
    if (!verifier.verify(signature))
      throw new HubError(400, "signature_rejected", "The signature does not verify over the bytes received.");
  }

  #agree(fields: Signed): void {
    if (this.#announced === undefined || this.#announced.equals(startOf(fields))) return;
    throw unprocessable(`${HEADERS.signatureStart}: is not the beginning of signature, and signer_public_key.`);
  }
}
