import type { LookupAddress, LookupOptions } from "node:dns";
import { lookup as lookupAddresses } from "node:dns/promises";

/** Finds the addresses of a host. */
export type Resolve = (host: string) => Promise<LookupAddress[]>;

export const resolveBySystem: Resolve = (host) => lookupAddresses(host, { all: true });

/** The function that `net.connect` takes to find addresses. */
export type Lookup = (
  host: string,
  options: LookupOptions,
  callback: (error: Error | null, address: string | LookupAddress[], family?: number) => void,
) => void;

/** Returns a lookup for connections that are made to no other addresses than `resolve` returns. */
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
