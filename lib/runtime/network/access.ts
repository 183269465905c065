import { isIP } from "node:net";
import type { HostRule } from "../../contract/files/host-rule.ts";

/** Network access of one plugin: hosts that its descriptor requests and the operator grants. */
export type NetworkAccess =
  | { kind: "none" }
  /** Network of the host. */
  | { kind: "all" }
  | { kind: "names"; rules: NameRules };

export interface NameRules {
  /** Lists of which each must allow a destination. */
  all: readonly (readonly HostRule[])[];
  /** Operator's list, if any: an address in it may be a private one. */
  granted: readonly HostRule[];
  /** Private ranges that names may resolve to. */
  privateRanges: readonly string[];
}

export interface NetworkGrant {
  network: boolean | HostRule[];
  private_addresses: string[];
}

/** Returns the access of a plugin: the intersection of what it requests and what it is granted. */
export function accessOf(asked: boolean | HostRule[], grant: NetworkGrant | undefined): NetworkAccess {
  const granted = grant?.network ?? false;
  if (asked === false || granted === false) return { kind: "none" };
  const lists = [asked, granted].filter((list) => list !== true);
  if (lists.length === 0) return { kind: "all" };
  const rules = { all: lists, granted: granted === true ? [] : granted, privateRanges: grant?.private_addresses ?? [] };
  return { kind: "names", rules };
}

function matches(rule: HostRule, host: string, port: number): boolean {
  if (rule.port !== port) return false;
  if (!rule.wildcard) return rule.host === host;
  const label = host.endsWith(`.${rule.host}`) ? host.slice(0, -rule.host.length - 1) : "";
  // One label, as in certificates: a longer wildcard could carry messages to the owner of the domain.
  return label !== "" && !label.includes(".");
}

export const allows = (rules: readonly HostRule[], host: string, port: number): boolean =>
  rules.some((rule) => matches(rule, host, port));

/** True for an address that the operator's own list names. */
export const isGrantedAddress = ({ granted }: NameRules, host: string, port: number): boolean =>
  isIP(host) !== 0 && allows(granted, host, port);
