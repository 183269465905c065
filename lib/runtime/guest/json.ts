import { RuntimeFault } from "./fault.ts";

/** JSON that crosses between plugins: what comes from a plugin is never trusted to be JSON, small, or harmless. */

/** Largest frame of a sandbox's channel, header and body together, in bytes. */
export const MAX_FRAME_BYTES = 8 * 1024 * 1024;
/** Largest result of an action, in bytes of JSON: a frame without its header. */
export const MAX_RESULT_BYTES = MAX_FRAME_BYTES - 64 * 1024;

/** Returns a pattern for a key whose letters may be plain or escaped. */
const letters = (key: string): string =>
  [...key].map((letter) => `(?:${letter}|\\\\u00${letter.charCodeAt(0).toString(16)})`).join("");

/** Matches the keys that careless merging turns into prototype pollution, also when written with escapes. */
const SUSPICIOUS = new RegExp(`"(?:${letters("__proto__")}|${letters("constructor")})"\\s*:`, "i");

/** Tells whether a text can contain such a key at all: far quicker than finding it, and almost always false. */
export const mayPollute = (text: string): boolean =>
  text.includes("__proto__") || text.includes("constructor") || text.includes("\\u00");

/** Drops `__proto__`, and a `constructor` that holds a `prototype`. */
function disarm(_key: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  const object = value as Record<string, unknown>;
  if (Object.hasOwn(object, "__proto__")) delete object["__proto__"];
  if (Object.hasOwn(object, "constructor")) {
    const { constructor } = object as { constructor: unknown };
    if (typeof constructor === "object" && constructor !== null && Object.hasOwn(constructor, "prototype")) {
      delete (object as { constructor?: unknown }).constructor;
    }
  }
  return object;
}

/** Parses JSON without the keys that would pollute prototypes. */
export function parseJson(text: string): unknown {
  return mayPollute(text) && SUSPICIOUS.test(text) ? JSON.parse(text, disarm) : JSON.parse(text);
}

/** Returns clean JSON unchanged, and other JSON without those keys. Throws on anything but JSON. */
export function cleanJson(text: string): string {
  const value = parseJson(text);
  return mayPollute(text) && SUSPICIOUS.test(text) ? JSON.stringify(value) : text;
}

/**
 * Serializes an action's result as JSON text; undefined becomes null.
 * @throws RuntimeFault `result_not_serialisable` or `result_too_large`
 */
export function serialiseResult(result: unknown): string {
  if (result === undefined) return "null";
  let text: string | undefined;
  try {
    text = JSON.stringify(result);
  } catch (error) {
    throw new RuntimeFault("result_not_serialisable", `The result is not JSON: ${(error as Error).message}`);
  }
  if (text === undefined) throw new RuntimeFault("result_not_serialisable", `The result is a ${typeof result}.`);
  if (text.length > MAX_RESULT_BYTES / 3 && Buffer.byteLength(text) > MAX_RESULT_BYTES) {
    throw new RuntimeFault("result_too_large", `The result has more than ${MAX_RESULT_BYTES} bytes of JSON.`);
  }
  return text;
}
