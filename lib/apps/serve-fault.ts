import type { AppServeCode } from "../contract/surfaces/app-serve.ts";

/** Reason why an application was not started, as the local surface reports it. */
export class ServeFault extends Error {
  readonly code: AppServeCode;

  constructor(code: AppServeCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
