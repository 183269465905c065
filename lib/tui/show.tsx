import { type Instance, render } from "ink";
import type { ReactNode } from "react";
import { FleetDashboard, type FleetDashboardProps } from "./fleet-dashboard.tsx";
import { ThemeContext } from "./line.tsx";
import { SpokenDashboard } from "./spoken-dashboard.tsx";
import { themeOf } from "./theme.ts";
import { WatchDashboard, type WatchDashboardProps } from "./watch-dashboard.tsx";

/** Terminal of the dashboard. */
export interface Terminal {
  stdin: NodeJS.ReadStream;
  stdout: NodeJS.WriteStream;
  /** Whether to show sentences instead of a screen. */
  screenReader: boolean;
}

/** Most redraws per second: keys respond at once, and a deployment is not slowed down. */
const MAX_FPS = 20;

/** Renders until unmounted; then the terminal's own screen comes back. NO_COLOR removes colours. */
export function show(picture: ReactNode, { stdin, stdout, screenReader }: Terminal): Instance {
  const coloured = !process.env.NO_COLOR;
  return render(<ThemeContext value={themeOf(coloured)}>{picture}</ThemeContext>, {
    stdin,
    stdout,
    exitOnCtrlC: false,
    patchConsole: false,
    alternateScreen: !screenReader,
    incrementalRendering: !screenReader,
    isScreenReaderEnabled: screenReader,
    interactive: true,
    maxFps: MAX_FPS,
  });
}

/** Shows the watch's dashboard. */
export function showWatch(props: WatchDashboardProps, terminal: Terminal): Instance {
  return show(terminal.screenReader ? <SpokenDashboard {...props} /> : <WatchDashboard {...props} />, terminal);
}

/** Shows fleets, live. */
export function showFleets(props: FleetDashboardProps, terminal: Terminal): Instance {
  return show(<FleetDashboard {...props} />, terminal);
}
