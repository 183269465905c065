import type { LookupAddress } from "node:dns";
import { isIP } from "node:net";
import { LRUCache } from "lru-cache";
import { addressList, isListed, isPublic } from "../../support/network/addresses.ts";
import { lookupBy, type Resolve, resolveBySystem } from "../../support/network/lookup.ts";
import { RateLimit } from "../base/rate-limit.ts";
import { allows, isGrantedAddress, type NameRules } from "./access.ts";

/** Error of a destination that a plugin may not reach. */
export class Denied extends Error {
  readonly host: string;

  constructor(host: string, message: string) {
    super(message);
    this.host = host;
  }
}

export interface Destination {
  /** Name in lower case, or an address. */
  host: string;
  port: number;
}

/** Time for which resolved addresses are cached, in milliseconds. */
const KEPT_MS = 10_000;
/** Names of one plugin of which something is kept. */
const MOST_KEPT = 256;
/** Limit on lookups of new names, so that little can be leaked to an attacker's name server. */
const LOOKUPS = { calls: 60, period_seconds: 60 };

/** Destinations of one plugin. A name is checked before it is looked up, and its addresses before one is used. */
export class Destinations {
  readonly #rules: NameRules;
  readonly #resolve: Resolve;
  readonly #private;
  /** Allowed destinations: the rules of a plugin do not change while it is loaded. */
  readonly #checked = new LRUCache<string, Destination>({ max: MOST_KEPT });
  readonly #lookups = new RateLimit(LOOKUPS);
  readonly #found = new LRUCache<string, LookupAddress[]>({ max: MOST_KEPT, ttl: KEPT_MS });

  constructor(rules: NameRules, resolve: Resolve = resolveBySystem) {
    this.#rules = rules;
    this.#resolve = resolve;
    this.#private = addressList(rules.privateRanges);
  }

  /**
   * Checks a destination before it is looked up.
   * @param authority `host:port`; a missing port is `defaultPort`
   * @throws Denied
   */
  readonly check = (authority: string, defaultPort?: number): Destination => {
    const key = `${authority} ${defaultPort}`;
    const checked = this.#checked.get(key);
    if (checked !== undefined) return checked;
    const destination = parseAuthority(authority, defaultPort);
    const { host, port } = destination;
    if (!this.#rules.all.every((rules) => allows(rules, host, port))) {
      throw new Denied(host, `${host}:${port} is not among the hosts that the plugin asks for and is granted`);
    }
    if (isIP(host) !== 0 && !this.#mayReach(host) && !isGrantedAddress(this.#rules, host, port)) {
      throw new Denied(host, `${host} is a private address, which the operator's grant has to name`);
    }
    this.#checked.set(key, destination);
    return destination;
  };

  /** Looks up a checked name for a connection, which then uses only these addresses. */
  readonly lookup = lookupBy((host) => this.#addressesOf(host));

  async #addressesOf(host: string): Promise<LookupAddress[]> {
    let addresses = this.#found.get(host);
    if (addresses === undefined) {
      if (this.#lookups.take() > 0) throw new Denied(host, "the plugin looked up more than 60 names in a minute");
      addresses = await this.#resolve(host);
      this.#found.set(host, addresses);
    }
    const reachable = addresses.filter(({ address }) => this.#mayReach(address));
    if (reachable.length > 0) return reachable;
    const found = addresses.map(({ address }) => address).join(", ");
    throw new Denied(host, `${host} leads to ${found}: private addresses take private_addresses in the grant`);
  }

  #mayReach(address: string): boolean {
    return isPublic(address) || isListed(this.#private, address);
  }
}

/** Parses a destination. @throws Denied */
function parseAuthority(authority: string, defaultPort: number | undefined): Destination {
  const [, digits = defaultPort] = /:(\d{1,5})$/.exec(authority) ?? [];
  // The URL parser normalizes addresses, however written: 0x7f.1 and 2130706433 are 127.0.0.1.
  const written = authority.length > 300 || /[\s/\\@?#%]/.test(authority) ? "" : authority;
  const url = written === "" ? null : URL.parse(`http://${written}`);
  const port = Number(digits);
  if (url === null || !(port >= 1 && port <= 65_535)) {
    throw new Denied("invalid", `${JSON.stringify(authority.slice(0, 100))} is not HOST:PORT`);
  }
  return { host: url.hostname.replace(/^\[(.*)\]$/, "$1").replace(/\.$/, ""), port };
}
