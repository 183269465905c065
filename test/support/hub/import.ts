import type { HubOptions } from "../../../lib/hub/hub.ts";

/** Options of a hub that fetches archives from one source host, which answers as GitHub does. */
export const fetchingFrom = (origin: string): Partial<HubOptions> => ({ sourceHosts: [{ shape: "github", origin }] });
