import { RuntimeFault } from "../guest/fault.ts";

/** Largest value, in bytes of JSON. */
export const MAX_VALUE_BYTES = 1024 * 1024;

export type CacheRequest =
  | { method: "get"; key: string }
  | { method: "delete"; key: string }
  | { method: "set"; key: string; text: string; ttlSeconds: number };

/**
 * Checks a plugin's request to the cache. Keys carry the plugin's name, so that plugins do not see each other's
 * entries.
 * @param defaultTtlSeconds default lifetime of an entry, in seconds
 * @throws RuntimeFault `service_unavailable`
 */
export function cacheRequest(
  method: string,
  parameters: unknown[],
  caller: string,
  defaultTtlSeconds: number,
): CacheRequest {
  const [name, value, ttlSeconds = defaultTtlSeconds] = parameters;
  if (typeof name !== "string" || name.length > 1024) {
    throw new RuntimeFault("service_unavailable", "A key of the cache is a text of at most 1024 characters.");
  }
  const key = `${caller}:${name}`;
  if (method === "get" || method === "delete") return { method, key };
  if (method !== "set") throw new RuntimeFault("service_unavailable", `The cache has no method ${method}.`);
  if (typeof ttlSeconds !== "number" || !(ttlSeconds >= 0)) {
    throw new RuntimeFault("service_unavailable", "An entry's time to live is a number of seconds.");
  }
  const text = JSON.stringify(value) ?? "null";
  if (Buffer.byteLength(text) > MAX_VALUE_BYTES) {
    throw new RuntimeFault("service_unavailable", `A value of the cache has at most ${MAX_VALUE_BYTES} bytes of JSON.`);
  }
  return { method, key, text, ttlSeconds };
}
