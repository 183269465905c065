import type { Transport } from "./http.ts";

/** A hub and the key to it: what every client of a hub is made with. */
export interface HubConnection extends Transport {
  /** The hub's bare root; a trailing slash is ignored. */
  hubUrl: string;
  apiKey: string;
}
