import { timingSafeEqual } from "node:crypto";
import type { FastifyRequest } from "fastify";
import { RuntimeFault } from "../guest/fault.ts";

/**
 * The check of X-Plugin-Key (docs/contract/README.md#authentication). As many bytes as the key has are compared, in
 * constant time, whatever was sent: a refusal takes as long for a near miss as for any other key.
 */
export function pluginKeyCheck(key: string): (request: FastifyRequest) => RuntimeFault | undefined {
  const expected = Buffer.from(key);
  const given = Buffer.alloc(expected.length);
  return (request) => {
    const header = request.headers["x-plugin-key"];
    if (typeof header !== "string" || header === "") {
      return new RuntimeFault("key_missing", "The request carries no X-Plugin-Key.");
    }
    // Headers are bytes that Node shows as Latin-1: written so, a key in UTF-8 is what was sent. What a shorter one
    // leaves in the buffer does not count, because its length does.
    given.write(header, 0, "latin1");
    if (timingSafeEqual(given, expected) && header.length === expected.length) return undefined;
    return new RuntimeFault("key_rejected", "The X-Plugin-Key is wrong.");
  };
}
