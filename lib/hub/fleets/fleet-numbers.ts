import type { FleetCounts } from "../../contract/surfaces/reports.ts";
import { countHosts } from "../records/fleet-pages.ts";
import type { PreparedStatements } from "../records/port.ts";
import { FleetCache } from "./fleet-cache.ts";
import { silentBefore } from "./fleet-view.ts";

/** Returns the numbers of fleets, which polls and time change, too. */
export const fleetNumbers = (statements: PreparedStatements): FleetCache<FleetCounts> =>
  new FleetCache(statements, {
    max: 500,
    keptMs: 30_000,
    large: { hosts: 5000, keptMs: 2000 },
    async read(view, now) {
      const result = await countHosts(statements, view, silentBefore(now));
      return { result, hosts: result.hosts };
    },
  });
