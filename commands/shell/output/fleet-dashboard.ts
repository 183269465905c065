import type { HubConnection } from "../../../lib/client/hub-connection.ts";
import type { Target } from "../../../lib/contract/target.ts";
import { Pictures } from "../../../lib/tui/pictures.ts";
import { showFleets, type Terminal } from "../../../lib/tui/show.tsx";
import { interruptible } from "../base.ts";
import { endWithTerminal } from "./terminal.ts";

/** Shows fleets live until somebody quits or the terminal goes away. */
export async function fleetDashboard(
  targets: readonly Target[],
  connection: HubConnection,
  terminal: Terminal,
): Promise<void> {
  using interrupt = interruptible();
  const stop = new AbortController();
  using _terminal = endWithTerminal(stop, terminal);
  const picture = showFleets(
    {
      fleets: new Map(targets.map((target) => [`${target.kind}:${target.slug}`, { target, connection }])),
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
