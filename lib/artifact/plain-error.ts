import type { Code } from "../contract/codes.ts";
import { type ErrorKind, SealiftError } from "../contract/errors.ts";

/** A {@link SealiftError} as it goes from one thread to the other. */
export interface PlainError {
  kind: ErrorKind;
  code: Code;
  message: string;
  hint?: string;
}

export const plainError = ({ kind, code, message, hint }: SealiftError): PlainError => ({
  kind,
  code,
  message,
  ...(hint !== undefined && { hint }),
});

export const errorOf = ({ kind, code, message, hint }: PlainError): SealiftError =>
  new SealiftError(kind, code, message, hint === undefined ? {} : { hint });
