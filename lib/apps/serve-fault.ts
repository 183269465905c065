import { SealiftError } from "../contract/errors.ts";
import type { AppServeCode } from "../contract/surfaces/app-serve.ts";

/** Reason why an application was not started, as the local surface reports it. */
export class ServeFault extends Error {
  readonly code: AppServeCode;

  constructor(code: AppServeCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** Returns an error as a fault of an application, with its own code if it has one. */
export function asFault(thrown: unknown): ServeFault {
  if (thrown instanceof ServeFault) return thrown;
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return new ServeFault(thrown instanceof SealiftError ? "settings_invalid" : "internal", message, { cause: thrown });
}
