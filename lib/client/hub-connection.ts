import { type Labels, labelsText } from "../contract/labels.ts";
import { HEADERS } from "../contract/surfaces/headers.ts";
import { NOTHING } from "../contract/surfaces/host-record.ts";
import { type RootMark, rootMarkText } from "../contract/trust/marks.ts";
import type { Transport } from "./http.ts";

/** Hub with its key, as passed to every client of a hub. */
export interface HubConnection extends Transport {
  /** Root URL of the hub; a trailing slash is ignored. */
  hubUrl: string;
  apiKey: string;
  /** Name of this host, by which the hub's fleet view knows that it is alive. */
  hostId?: string;
  /** Labels of this host, by which rollouts select hosts for waves. */
  labels?: Labels;
  /** Random name of a polling program, kept for as long as it runs. */
  instance?: string;
  /** Root URLs of mirrors, tried in this order before the hub. */
  mirrors?: readonly string[];
}

/**
 * Returns the headers that name the polling host.
 *
 * @param running version that runs there, null for none; undefined leaves it to the host's last report
 * @param root version of the trust root that it follows; undefined for none
 */
export const hostHeaders = (
  { hostId, instance, labels = {} }: HubConnection,
  running?: string | null,
  root?: RootMark,
): Record<string, string> => ({
  ...(hostId !== undefined && { [HEADERS.host]: encodeURIComponent(hostId) }),
  ...(hostId !== undefined && Object.keys(labels).length > 0 && { [HEADERS.labels]: labelsText(labels) }),
  ...(hostId !== undefined && instance !== undefined && { [HEADERS.instance]: instance }),
  ...(hostId !== undefined && root !== undefined && { [HEADERS.root]: rootMarkText(root) }),
  ...(running !== undefined && { [HEADERS.running]: running ?? NOTHING }),
});
