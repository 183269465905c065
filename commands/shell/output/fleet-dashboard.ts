import type { HubConnection } from "../../../lib/client/hub-connection.ts";
import type { Target } from "../../../lib/contract/target.ts";
import { Pictures } from "../../../lib/tui/pictures.ts";
import { showFleets, type Terminal } from "../../../lib/tui/show.tsx";
import { untilQuit } from "./terminal.ts";

/** Shows fleets live until somebody quits or the terminal closes. */
export function fleetDashboard(
  named: readonly { target: Target; title: string }[],
  connection: HubConnection,
  staleMs: number,
  terminal: Terminal,
): Promise<void> {
  const fleets = new Map(named.map(({ target, title }) => [title, { target, connection }]));
  const pictures = new Pictures();
  return untilQuit(terminal, (quit) => showFleets({ fleets, staleMs, pictures, quit }, terminal));
}
