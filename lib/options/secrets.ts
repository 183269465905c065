import { nonEmpty, option, TEXT_SCHEMA } from "./kinds.ts";
import type { Given, Option, OptionDeclaration } from "./option.ts";

/** Facts that an author states of a secret. With `fileOnly`, the command line accepts only `--NAME-file`. */
type SecretFacts = OptionDeclaration<never> & { fileOnly?: boolean };

/** Requires a text that a header can hold. @throws Error for any other */
function tokenOf(text: string): string {
  if (/^[\x21-\x7e]+$/.test(text)) return text;
  throw new Error("is one line of ASCII characters without blanks, and this is not");
}

function secretOf<T extends string | Buffer>(facts: SecretFacts, fromBytes: (bytes: Buffer) => T) {
  const own = {
    schema: TEXT_SCHEMA,
    parse: (given: Given): T => fromBytes(Buffer.from(nonEmpty(given))),
    secret: true,
    fileOnly: facts.fileOnly ?? false,
    fromBytes,
  };
  return option<T>("secret", facts, own) as Option<T | undefined>;
}

/** Returns the text without its final newline. */
const textIn = (bytes: Buffer): string => bytes.toString("utf8").replace(/\r?\n$/, "");

/**
 * Creates an option of a secret text, without its final newline: also from a file, standard input, or its systemd
 * credential.
 */
export const secret = (facts: SecretFacts): Option<string | undefined> => secretOf(facts, textIn);

/** Creates an option of a secret that requests carry in a header. */
export const token = (facts: SecretFacts): Option<string | undefined> =>
  secretOf(facts, (bytes) => tokenOf(textIn(bytes)));

/** Creates an option of a secret that may be binary. */
export const secretBytes = (facts: SecretFacts): Option<Buffer | undefined> => secretOf(facts, (bytes) => bytes);
