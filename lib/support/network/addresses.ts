import { BlockList, isIP } from "node:net";
import { addRange } from "../../contract/files/host-rule.ts";

/** Addresses outside the public internet: this host, its networks, and the metadata services of clouds. */
const PRIVATE = [
  ...["0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24"],
  ...[
    "192.0.2.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/4",
    "240.0.0.0/4",
  ],
  // Azure's host of metadata, health probes and name service.
  "168.63.129.16/32",
  // IPv6, including addresses that embed an IPv4 address: SIIT, NAT64, 6to4, Teredo.
  ...["::/96", "::ffff:0:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/32", "2001:db8::/32"],
  ...["2002::/16", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8"],
];

/** @param ranges such as `10.0.0.0/8`; @throws Error for any other text */
export function addressList(ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) addRange(list, range);
  return list;
}

/** Built on first use: Node takes 5 ms for its pattern of IPv6 addresses. */
let privateAddresses: BlockList | undefined;

export const isListed = (list: BlockList, address: string): boolean =>
  list.check(address, isIP(address) === 6 ? "ipv6" : "ipv4");

/** True for an address of the public internet. An IPv4 address in IPv6 notation counts as IPv4. */
export const isPublic = (address: string): boolean =>
  isIP(address) !== 0 && !isListed((privateAddresses ??= addressList(PRIVATE)), address);
