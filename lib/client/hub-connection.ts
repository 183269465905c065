import { type Labels, labelsText } from "../contract/labels.ts";
import { HEADERS } from "../contract/surfaces/headers.ts";
import { NOTHING } from "../contract/surfaces/host-record.ts";
import type { Transport } from "./http.ts";

/** A hub and the key to it: what every client of a hub is made with. */
export interface HubConnection extends Transport {
  /** The hub's bare root; a trailing slash is ignored. */
  hubUrl: string;
  apiKey: string;
  /** The name of this host, which the hub's fleet view then knows to be alive. */
  hostId?: string;
  /** Labels of this host, by which rollouts choose their waves. */
  labels?: Labels;
  /** A random name of the program that asks, where it goes on asking for as long as it runs. */
  instance?: string;
  /** Roots of mirrors that are asked for bytes before the hub, in this order. */
  mirrors?: readonly string[];
}

/**
 * Returns the headers that tell a hub which host polls.
 *
 * @param running the version that runs there, null for none; undefined leaves it to the host's last report
 */
export const hostHeaders = (
  { hostId, instance, labels = {} }: HubConnection,
  running?: string | null,
): Record<string, string> => ({
  ...(hostId !== undefined && { [HEADERS.host]: encodeURIComponent(hostId) }),
  ...(hostId !== undefined && Object.keys(labels).length > 0 && { [HEADERS.labels]: labelsText(labels) }),
  ...(hostId !== undefined && instance !== undefined && { [HEADERS.instance]: instance }),
  ...(running !== undefined && { [HEADERS.running]: running ?? NOTHING }),
});
