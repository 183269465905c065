import { type Instance, render } from "ink";
import type { ReactNode } from "react";
import { FleetDashboard, type FleetDashboardProps } from "./fleet-dashboard.tsx";
import { ThemeContext } from "./line.tsx";
import { SpokenDashboard } from "./spoken-dashboard.tsx";
import { themeOf } from "./theme.ts";
import { WatchDashboard, type WatchDashboardProps } from "./watch-dashboard.tsx";

/** The terminal that the dashboard is shown on. */
export interface Terminal {
  stdin: NodeJS.ReadStream;
  stdout: NodeJS.WriteStream;
  /** Sentences instead of a picture. */
  screenReader: boolean;
}

/** Pictures per second at the most: keys answer at once, and a deployment keeps its time. */
const MAX_FPS = 20;

/** Shows a picture until it is unmounted; the terminal's own screen comes back then. NO_COLOR leaves colours out. */
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
