import { isIPv4, isIPv6 } from "node:net";

/**
 * Returns the one form of an address: `127.0.0.1:3000` for a port alone, `[::1]:3000` for `[0:0::1]:3000`, and
 * `127.0.0.1:3000` for `[::ffff:127.0.0.1]:3000`. Undefined for what is no address and port from 1 to 65535:
 * numbers are decimal, without leading zeros.
 */
export function canonicalAddress(text: string): string | undefined {
  const written = /^[1-9]\d{0,4}$/.test(text) ? `127.0.0.1:${text}` : text;
  const [, host6, host4, port = ""] = /^(?:\[([0-9a-f:.]{2,45})\]|([\d.]{7,15})):([1-9]\d{0,4})$/i.exec(written) ?? [];
  if (Number(port) > 65_535) return undefined;
  if (host4 !== undefined) return isIPv4(host4) ? `${host4}:${port}` : undefined;
  if (host6 === undefined || !isIPv6(host6)) return undefined;
  const host = new URL(`http://[${host6}]`).hostname;
  const [, high, low] = /^\[::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})\]$/.exec(host) ?? [];
  if (high === undefined || low === undefined) return `${host}:${port}`;
  const bytes = [high, low].flatMap((part) => [parseInt(part, 16) >> 8, parseInt(part, 16) & 255]);
  return `${bytes.join(".")}:${port}`;
}

/** Returns host and port of an address in `applications.yaml`, without the brackets of IPv6. */
export function hostAndPort(at: string): { host: string; port: number } {
  const colon = at.lastIndexOf(":");
  return { host: at.slice(0, colon).replace(/^\[|\]$/g, ""), port: Number(at.slice(colon + 1)) };
}
