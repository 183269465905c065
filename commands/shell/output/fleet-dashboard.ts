import type { HubConnection } from "../../../lib/client/hub-connection.ts";
import type { Target } from "../../../lib/contract/target.ts";
import { Pictures } from "../../../lib/tui/pictures.ts";
import { showFleets, type Terminal } from "../../../lib/tui/show.tsx";
import { interruptible } from "../base.ts";
import { endWithTerminal } from "./terminal.ts";

/** Shows fleets live until somebody quits or the terminal goes away. */
export async function fleetDashboard(
  fleets: readonly { target: Target; title: string }[],
  connection: HubConnection,
  staleMs: number,
  terminal: Terminal,
): Promise<void> {
  using interrupt = interruptible();
  const stop = new AbortController();
  using _terminal = endWithTerminal(stop, terminal);
  const picture = showFleets(
    {
      fleets: new Map(fleets.map(({ target, title }) => [title, { target, connection }])),
      staleMs,
      pictures: new Pictures(),
      quit: () => stop.abort(),
    },
    terminal,
  );
  const ended = AbortSignal.any([interrupt.signal, stop.signal]);
  ended.addEventListener("abort", () => picture.unmount(), { once: true });
  if (ended.aborted) picture.unmount();
  await picture.waitUntilExit();
}
