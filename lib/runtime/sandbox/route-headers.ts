import { PLUGIN_PAGE_POLICY } from "../../support/network/content-security.ts";
import { RuntimeFault } from "../guest/fault.ts";

/** Filters headers to and from a sandboxed plugin. */

const MAX_HEADERS = 100;
const MAX_HEADER_CHARACTERS = 16 * 1024;
const NAME = /^[!#$%&'*+.^_`|~0-9a-z-]+$/;
/** Header values as Node sends them: printable latin1 without line breaks. */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Headers of the connection and of the whole host, which only the runtime writes. */
const KEPT_BACK: ReadonlySet<string> = new Set([
  ...["connection", "keep-alive", "proxy-authenticate", "proxy-connection", "te", "trailer", "transfer-encoding"],
  ...["upgrade", "content-length", "date", "x-request-id", "service-worker-allowed", "clear-site-data"],
  "x-content-type-options",
  ...["strict-transport-security", "alt-svc", "public-key-pins", "nel", "report-to", "reporting-endpoints"],
]);

/**
 * Returns the headers for a plugin, without the operator's plugin key, and without a token that the runtime has
 * checked, which reaches the plugin as claims.
 */
export function headersForPlugin(
  headers: Readonly<Record<string, unknown>>,
  isProtected: boolean,
): Record<string, unknown> {
  const { "x-plugin-key": _key, authorization, ...others } = headers;
  return isProtected || authorization === undefined ? others : { ...others, authorization };
}

/**
 * Checks the headers of an answer.
 *
 * @param prefix path of cookies
 * @throws RuntimeFault `action_failed` for headers that HTTP does not allow
 */
export function headersOfPlugin(given: unknown, prefix: string): Record<string, string | string[]> {
  const invalid = (why: string): RuntimeFault => new RuntimeFault("action_failed", `The route's headers ${why}.`);
  if (typeof given !== "object" || given === null) throw invalid("are missing");
  const entries = Object.entries(given as Record<string, unknown>);
  if (entries.length > MAX_HEADERS) throw invalid(`are more than ${MAX_HEADERS}`);
  const headers: Record<string, string | string[]> = {
    "x-content-type-options": "nosniff",
    "content-security-policy": PLUGIN_PAGE_POLICY,
  };
  let characters = 0;
  for (const [key, value] of entries) {
    const name = key.toLowerCase();
    const values = (Array.isArray(value) ? value : [value]) as unknown[];
    if (!NAME.test(name) || name.length > 256) throw invalid("have an invalid name");
    for (const text of values) {
      if (typeof text !== "string" || !VALUE.test(text)) throw invalid(`have a value of ${name} that is not allowed`);
      characters += name.length + text.length;
    }
    if (values.length > MAX_HEADERS || characters > MAX_HEADER_CHARACTERS)
      throw invalid(`have more than ${MAX_HEADER_CHARACTERS} characters`);
    if (KEPT_BACK.has(name)) continue;
    const texts = values as string[];
    if (name === "set-cookie") headers[name] = cookies(texts, prefix);
    else if (name === "content-security-policy") headers[name] = [PLUGIN_PAGE_POLICY, ...texts];
    else headers[name] = texts.length === 1 ? texts[0]! : texts;
  }
  return headers;
}

/**
 * Restricts a plugin's cookies to its own paths on this host: the last `Path` counts, and cookies with a `Domain` are
 * dropped.
 */
const cookies = (values: readonly string[], prefix: string): string[] =>
  values.filter((cookie) => !/;\s*domain\s*=/i.test(cookie)).map((cookie) => `${cookie}; Path=${prefix}`);

/** Checks a status. @throws RuntimeFault `action_failed` */
export function statusOfPlugin(status: unknown): number {
  if (typeof status === "number" && Number.isInteger(status) && status >= 200 && status <= 599) return status;
  throw new RuntimeFault("action_failed", "The route's status is not from 200 to 599.");
}
