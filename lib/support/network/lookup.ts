import type { LookupAddress, LookupOptions } from "node:dns";
import { lookup as lookupAddresses } from "node:dns/promises";

/** Finds the addresses of a host. */
export type Resolve = (host: string) => Promise<LookupAddress[]>;

export const resolveBySystem: Resolve = (host) => lookupAddresses(host, { all: true });

/** Function with which `net.connect` finds addresses. */
export type Lookup = (
  host: string,
  options: LookupOptions,
  callback: (error: Error | null, address: string | LookupAddress[], family?: number) => void,
) => void;

/** Returns a lookup that restricts connections to the addresses of `resolve`. */
export const lookupBy =
  (resolve: Resolve): Lookup =>
  (host, { all }, callback) => {
    resolve(host).then(
      (addresses) => {
        const [first] = addresses;
        if (all === true) callback(null, addresses);
        else callback(null, first?.address ?? "", first?.family);
      },
      (error: Error) => callback(error, ""),
    );
  };
