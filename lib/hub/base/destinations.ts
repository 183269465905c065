import type { LookupAddress } from "node:dns";
import { isIP } from "node:net";
import { addressList, isListed, isPublic } from "../../support/network/addresses.ts";
import { type Lookup, lookupBy, type Resolve, resolveBySystem } from "../../support/network/lookup.ts";
import { within } from "../../support/within.ts";

/** Why a webhook may not use an address; the message continues "The address …". */
export class BadDestination extends Error {}

/** Time limit of a name lookup, in milliseconds: the system's resolver retries for longer. */
const RESOLVE_LIMIT_MS = 5000;

const timedOut = (): Error => Object.assign(new Error("no answer"), { code: "ETIMEOUT" });

const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[(.*)\]$/, "$1").replace(/\.$/, "");

/** True for the scheme's own port and for unprivileged ones: webhooks reach no mail server or database. */
const isUsualPort = ({ port }: URL): boolean => port === "" || Number(port) >= 1024;

/**
 * Addresses that webhooks may lead to: public ones over https, and those that the operator allows. A name is resolved
 * for each connection, which then uses only the addresses that were checked.
 */
export class Destinations {
  readonly #names: ReadonlySet<string>;
  readonly #ranges;
  readonly #resolve: Resolve;
  readonly #limitMs: number;

  /** @param allowed host names, addresses, and ranges such as 10.0.0.0/8 */
  constructor(allowed: readonly string[] = [], resolve: Resolve = resolveBySystem, limitMs = RESOLVE_LIMIT_MS) {
    const ranges = allowed.filter((entry) => entry.includes("/"));
    const addresses = allowed.filter((entry) => isIP(entry) !== 0);
    this.#ranges = addressList([...ranges, ...addresses.map((one) => `${one}/${isIP(one) === 6 ? 128 : 32}`)]);
    this.#names = new Set(allowed.filter((entry) => isIP(entry) === 0 && !entry.includes("/")));
    this.#resolve = resolve;
    this.#limitMs = limitMs;
  }

  /** Parses a webhook's address, without resolving it. @throws BadDestination */
  parse(text: string): URL {
    const url = URL.parse(text);
    if (url === null) throw new BadDestination("is not a URL");
    this.check(url);
    url.hash = "";
    return url;
  }

  /** Checks an address before its name is resolved. @throws BadDestination */
  check(url: URL): void {
    if (!/^https?:$/.test(url.protocol)) throw new BadDestination("must begin with https://");
    if (url.username !== "" || url.password !== "") throw new BadDestination("must not hold a user name or password");
    const host = hostOf(url);
    if (isIP(host) !== 0) this.#require(url, [{ address: host, family: isIP(host) }]);
  }

  /** Checks an address, and those that its name currently resolves to. @throws BadDestination */
  async checkNow(url: URL): Promise<void> {
    this.check(url);
    await this.#addressesOf(url);
  }

  /** Returns the function that finds the addresses for a connection to a URL. */
  lookup(url: URL): Lookup {
    return lookupBy(() => this.#addressesOf(url));
  }

  async #addressesOf(url: URL): Promise<LookupAddress[]> {
    const host = hostOf(url);
    if (isIP(host) !== 0) return this.#require(url, [{ address: host, family: isIP(host) }]);
    let found: LookupAddress[];
    try {
      found = await within(this.#resolve(host), this.#limitMs, timedOut);
    } catch (error) {
      throw new BadDestination(`names a host that cannot be found: ${(error as NodeJS.ErrnoException).code ?? "?"}`);
    }
    return this.#require(url, found);
  }

  /** @returns the addresses that may be reached; @throws BadDestination when none may */
  #require(url: URL, addresses: readonly LookupAddress[]): LookupAddress[] {
    if (this.#names.has(hostOf(url))) return [...addresses];
    const allowed = addresses.filter(({ address }) => isListed(this.#ranges, address));
    if (allowed.length > 0) return allowed;
    if (url.protocol === "http:") throw new BadDestination("must begin with https://");
    if (!isUsualPort(url)) throw new BadDestination("names a port below 1024 that is not 443");
    const reachable = addresses.filter(({ address }) => isPublic(address));
    if (reachable.length > 0) return reachable;
    throw new BadDestination("leads to a private address, which the hub's operator has to allow");
  }
}
