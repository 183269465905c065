import type { RuntimeCode } from "../../contract/surfaces/runtime.ts";
import { RuntimeFault } from "../guest/fault.ts";
import type { Frame } from "../guest/frames.ts";
import { MAX_ID_CHARACTERS, text } from "./frame-fields.ts";

const MAX_STACK_CHARACTERS = 8192;

/** Codes that a plugin's own reply may carry; anything else becomes `action_failed`. */
const REPLY_CODES: ReadonlySet<string> = new Set<RuntimeCode>([
  "action_failed",
  "payload_invalid",
  "result_not_serialisable",
  "result_too_large",
  "permission_denied",
  "service_unavailable",
  "call_too_deep",
]);

/** Returns an error for what was thrown in the plugin's process. */
function remoteError(message: string, stack: unknown): Error | undefined {
  if (typeof stack !== "string") return undefined;
  const error = new Error(message);
  error.stack = stack.slice(0, MAX_STACK_CHARACTERS);
  return error;
}

/** Codes that the reply of a route may carry, too, since the request is the client's. */
const ROUTE_CODES: ReadonlySet<string> = new Set<RuntimeCode>([
  ...(REPLY_CODES as ReadonlySet<RuntimeCode>),
  "bad_request",
  "bad_json",
  "not_found",
]);

/** Returns the fault that a plugin's reply reports. */
export function replyFault(header: Frame["header"], of: "action" | "route"): RuntimeFault {
  const codes = of === "action" ? REPLY_CODES : ROUTE_CODES;
  const said = text(header["code"], MAX_ID_CHARACTERS);
  const code = codes.has(said) ? (said as RuntimeCode) : "action_failed";
  const message = text(header["message"], 8192);
  return new RuntimeFault(code, message, { cause: remoteError(message, header["stack"]) });
}
