import type { IncomingMessage } from "node:http";
import { isIPv6 } from "node:net";

/** Matches RFC 3986, 3.2.2: a name, an IPv4 address, or an address in brackets; then an optional port. */
const HOST = /^(?:\[([^\]]*)\]|(?:[A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*)(?::([0-9]{0,5}))?$/;
const MAX_PORT = 65_535;

function isHost(value: string): boolean {
  const [whole, literal, port = ""] = HOST.exec(value) ?? [];
  return whole !== undefined && (literal === undefined || isIPv6(literal)) && Number(port) <= MAX_PORT;
}

/**
 * Finds what is wrong with the Host of a request, which Node.js does not check: a proxy could take it for another host.
 * Every server of the product then answers 400 (RFC 9112, 3.2).
 *
 * @returns the fault as a sentence; undefined for a correct or missing Host
 */
export function hostFault({ rawHeaders }: Pick<IncomingMessage, "rawHeaders">): string | undefined {
  let host: string | undefined;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!;
    if (name.length !== 4 || name.toLowerCase() !== "host") continue;
    if (host !== undefined) return "The request has two Host fields.";
    host = rawHeaders[index + 1]!;
  }
  return host === undefined || isHost(host) ? undefined : "The request's Host is not a host with an optional port.";
}
