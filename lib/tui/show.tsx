import { type Instance, render } from "ink";
import type { ReactNode } from "react";
import { FleetDashboard, type FleetDashboardProps } from "./fleet-dashboard.tsx";
import { ThemeContext } from "./line.tsx";
import { SpokenDashboard } from "./spoken-dashboard.tsx";
import { MOUSE_OFF, MOUSE_ON } from "./terminal-modes.ts";
import { themeOf } from "./theme.ts";
import { WatchDashboard, type WatchDashboardProps } from "./watch-dashboard.tsx";

/** The terminal that the dashboard is shown on. */
export interface Terminal {
  stdin: NodeJS.ReadStream;
  stdout: NodeJS.WriteStream;
  /** Sentences instead of a picture. */
  screenReader: boolean;
}

/** The mouse listens for as long as a picture is shown on the terminal's second screen. */
function withMouse(instance: Instance, stdout: NodeJS.WriteStream): Instance {
  const off = (): void => void stdout.write(MOUSE_OFF);
  stdout.write(MOUSE_ON);
  process.once("exit", off);
  const { unmount } = instance;
  return {
    ...instance,
    unmount: (...error) => {
      process.off("exit", off);
      off();
      unmount(...error);
    },
  };
}

/** Pictures per second at the most: keys answer at once, and a deployment keeps its time. */
const MAX_FPS = 20;

/** Shows a picture until it is unmounted; the terminal's own screen comes back then. NO_COLOR leaves colours out. */
export function show(picture: ReactNode, { stdin, stdout, screenReader }: Terminal): Instance {
  const coloured = !process.env.NO_COLOR;
  const instance = render(<ThemeContext value={themeOf(coloured)}>{picture}</ThemeContext>, {
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
  return screenReader ? instance : withMouse(instance, stdout);
}

/** Shows the watch's dashboard. */
export function showWatch(props: WatchDashboardProps, terminal: Terminal): Instance {
  return show(terminal.screenReader ? <SpokenDashboard {...props} /> : <WatchDashboard {...props} />, terminal);
}

/** Shows fleets, live. */
export function showFleets(props: FleetDashboardProps, terminal: Terminal): Instance {
  return show(<FleetDashboard {...props} />, terminal);
}
