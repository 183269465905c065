import { BlockList, isIP } from "node:net";
import * as z from "zod";
import { later } from "../later.ts";

/**
 * Hosts that a plugin requests, and that an operator grants: `api.example.org:443`, `*.example.net:443`,
 * `[2001:db8::1]:80`.
 */

const NAME = /^(?:\*\.(?=[^.]+\.))?[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*$/;
const RULE = /^(.+):(\d{1,5})$/;

export interface HostRule {
  /**
   * Host in lower case; for a wildcard, the name below which any one label matches. IPv6 addresses have no brackets.
   */
  host: string;
  wildcard: boolean;
  port: number;
}

function parseRule(text: string): HostRule | undefined {
  const [, written = "", digits = ""] = RULE.exec(text.toLowerCase()) ?? [];
  const port = Number(digits);
  const host = written.replace(/^\[(.*)\]$/, "$1");
  const isAddress = isIP(host) !== 0;
  if (port < 1 || port > 65_535 || host.length > 253) return undefined;
  if (isAddress) return (isIP(host) === 6) === (host !== written) ? { host, wildcard: false, port } : undefined;
  // Elsewhere a name of only digits and dots would be read as an address.
  if (!NAME.test(host) || /^[\d.]+$/.test(host)) return undefined;
  const wildcard = host.startsWith("*.");
  return { host: wildcard ? host.slice(2) : host, wildcard, port };
}

const hostRule = later(() =>
  z.string().transform((text, context) => {
    const rule = parseRule(text);
    if (rule) return rule;
    context.addIssue({ code: "custom", message: "is not HOST:PORT" });
    return z.NEVER;
  }),
);

const hostRules = later(() => z.array(hostRule).min(1).max(256));

/** Returns the schema of a network grant: all, none, or some hosts. */
export const network = (flag: z.ZodType<boolean>) =>
  z.union(
    [flag, hostRules],
    "must be true, false, or a list of HOST:PORT such as api.example.org:443, *.example.net:443",
  );

/** Address range: `10.0.0.0/8`, `fd00::/8`. */
export const addressRange = later(() =>
  z.string().refine((text) => {
    try {
      addRange(new BlockList(), text);
      return true;
    } catch {
      return false;
    }
  }, "must be a range of addresses such as 10.0.0.0/8"),
);

/** Adds a range to a list. @throws Error for any other text */
export function addRange(list: BlockList, range: string): void {
  const [address = "", length = ""] = range.split("/");
  const family = isIP(address) === 6 ? "ipv6" : "ipv4";
  if (isIP(address) === 0 || !/^\d{1,3}$/.test(length)) throw new Error(`${range} is not a range of addresses`);
  list.addSubnet(address, Number(length), family);
}
