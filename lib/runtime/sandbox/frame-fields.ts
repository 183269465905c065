import type { RuntimeCode } from "../../contract/surfaces/runtime.ts";
import type { Use } from "../base/instance.ts";
import { RuntimeFault } from "../guest/fault.ts";
import type { Frame } from "../guest/frames.ts";
import { parseJson } from "../guest/json.ts";
import type { LogLevel } from "../guest/plugin-port.ts";

/**
 * Reads fields of frames, which a plugin may have forged: each is checked and shortened. Never converts an object to a
 * text or number: its `toString` may be no function, which would throw.
 */

/** Most characters of ids and codes; the longest is a UUID. */
export const MAX_ID_CHARACTERS = 64;

export const text = (value: unknown, maxCharacters: number): string =>
  (typeof value === "string" ? value : "").slice(0, maxCharacters);

const START_CODES: ReadonlySet<string> = new Set<RuntimeCode>([
  "load_failed",
  "permission_denied",
  "service_unavailable",
]);

/** Returns the reason why a plugin could not be loaded, as reported by its process. */
export function startFault({ code, message }: Frame["header"]): RuntimeFault {
  const said = text(code, MAX_ID_CHARACTERS);
  const known = START_CODES.has(said) ? (said as RuntimeCode) : "load_failed";
  return new RuntimeFault(known, text(message, 4096));
}

/** Returns the use of a permission that a frame of an audited plugin reports. */
export function useOf({ what, host, permission, resource }: Frame["header"]): Use {
  if (what === "host") return { what, host: text(host, 300) };
  return { what: "node", permission: text(permission, 64), resource: text(resource, 4096) };
}

/** Most characters of the fields of a log record; more are left out. */
const MAX_FIELD_CHARACTERS = 64 * 1024;

/** Returns a record for the log; undefined when its fields are not JSON. */
export function recordOf({ header, body }: Frame): { level: LogLevel; message: string; fields: unknown } | undefined {
  const { level } = header;
  const known = level === "debug" || level === "warn" || level === "error" ? level : "info";
  try {
    const fields = body === "" || body.length > MAX_FIELD_CHARACTERS ? undefined : parseJson(body);
    return { level: known, message: text(header["message"], 8192), fields };
  } catch {
    return undefined;
  }
}
