import { RuntimeFault } from "../guest/fault.ts";

/** Bytes of JSON of one value. */
export const MAXIMUM_VALUE = 1024 * 1024;

export type CacheRequest =
  | { method: "get"; key: string }
  | { method: "delete"; key: string }
  | { method: "set"; key: string; text: string; ttl: number };

/**
 * What a plugin asks of the cache, checked. Keys carry the plugin's name: plugins do not see each other's entries.
 * @param defaultTtl seconds
 */
export function cacheRequest(method: string, parameters: unknown[], caller: string, defaultTtl: number): CacheRequest {
  const [name, value, ttl = defaultTtl] = parameters;
  if (typeof name !== "string" || name.length > 1024) {
    throw new RuntimeFault("service_unavailable", "A key of the cache is a text of at most 1024 characters.");
  }
  const key = `${caller}:${name}`;
  if (method === "get" || method === "delete") return { method, key };
  if (method !== "set") throw new RuntimeFault("service_unavailable", `The cache has no method ${method}.`);
  if (typeof ttl !== "number" || !(ttl >= 0)) {
    throw new RuntimeFault("service_unavailable", "An entry's time to live is a number of seconds.");
  }
  const text = JSON.stringify(value) ?? "null";
  if (Buffer.byteLength(text) > MAXIMUM_VALUE) {
    throw new RuntimeFault("service_unavailable", `A value of the cache has at most ${MAXIMUM_VALUE} bytes of JSON.`);
  }
  return { method, key, text, ttl };
}
