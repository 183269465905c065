import type { RuntimeCode } from "../../contract/surfaces/runtime.ts";
import { causesOf, networkAdvice } from "./network-advice.ts";

/** Error of the runtime as data: `code` is from the contract's table and determines the HTTP status. */
export class RuntimeFault extends Error {
  override name = "RuntimeFault";
  readonly code: RuntimeCode;
  /** Seconds after which the caller may retry; undefined if unknown. */
  readonly retryAfterSeconds: number | undefined;

  constructor(code: RuntimeCode, message: string, options?: ErrorOptions & { retryAfterSeconds?: number }) {
    super(message, options);
    this.code = code;
    this.retryAfterSeconds = options?.retryAfterSeconds;
  }
}

/** Failure of a call that no plugin has begun: another process may run it. */
export class UnreadFault extends RuntimeFault {}

/**
 * Failure of a plugin's own request to the runtime. The plugin sees its code; to the plugin's caller it is not a
 * failure of the plugin itself.
 */
export class RequestFault extends RuntimeFault {}

/** Codes of such a failure that keep their meaning for the caller of a plugin that does not handle it. */
const PASSED_ON: ReadonlySet<RuntimeCode> = new Set(["permission_denied", "service_unavailable", "call_too_deep"]);

export function messageOf(error: unknown): string {
  try {
    if (error instanceof Error) return error.message === "" ? error.name : error.message;
    return typeof error === "string" ? error : `thrown value: ${JSON.stringify(error) ?? String(error)}`;
  } catch {
    return "an error that cannot be described";
  }
}

/** Returns the stack of what a plugin threw; undefined for a fault of the runtime itself. */
export function stackOf({ cause }: RuntimeFault): string | undefined {
  return cause instanceof Error ? cause.stack : undefined;
}

/** Converts the reason why a plugin could not be loaded to a fault: its own, or `load_failed`. */
export const asLoadFault = (error: unknown): RuntimeFault =>
  error instanceof RuntimeFault ? error : new RuntimeFault("load_failed", messageOf(error), { cause: error });

const FILES_ADVICE =
  "the sandbox reads the plugin's own folder and writes data/: see filesystem.allowed_paths in plugin.yaml";

/** Returns advice about an error that the sandbox itself caused; undefined for any other. */
function sandboxAdvice(error: unknown): string | undefined {
  for (const cause of causesOf(error)) {
    const { code, permission } = cause as NodeJS.ErrnoException & { permission?: string };
    if (code === "ERR_ACCESS_DENIED" && permission?.startsWith("FileSystem") === true) return FILES_ADVICE;
    const advice = networkAdvice(cause);
    if (advice !== undefined) return advice;
  }
  return undefined;
}

/**
 * Converts whatever a plugin threw to a fault: its own 400, a fault of a service that it did not handle, or
 * `action_failed`.
 */
export function faultOfAction(error: unknown): RuntimeFault {
  if (error instanceof RequestFault && !PASSED_ON.has(error.code)) {
    return new RuntimeFault("action_failed", error.message, { cause: error });
  }
  if (error instanceof RuntimeFault) return error;
  // The SDK's PayloadError, whichever copy of the SDK made it.
  if (error instanceof Error && (error as { code?: unknown }).code === "payload_invalid") {
    return new RuntimeFault("payload_invalid", messageOf(error), { cause: error });
  }
  const advice = sandboxAdvice(error);
  const text = messageOf(error);
  const message = advice === undefined || text.includes(advice) ? text : `${text} (${advice})`;
  return new RuntimeFault("action_failed", message, { cause: error });
}
