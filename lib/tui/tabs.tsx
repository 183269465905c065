import type { ReactNode } from "react";
import { Line, type Part } from "./line.tsx";
import { type Tab, TABS } from "./navigation.ts";
import { widthOf } from "./text.ts";

export const TAB_TITLES: Record<Tab, string> = {
  deployment: "Deployment",
  fleet: "Fleet",
  history: "History",
  events: "Events",
};

/** Returns a view's number and title. */
export const tabTitle = (tab: Tab): string => `${TABS.indexOf(tab) + 1} ${TAB_TITLES[tab]}`;

const START = "── ";
const GAP = "  ";

/** The line of all views' titles, each always in the same place, the chosen one in bold and between brackets. */
export function Tabs({ chosen, note, width }: { chosen: Tab; note: string; width: number }): ReactNode {
  const parts: Part[] = [[START, "quiet"]];
  for (const tab of TABS) {
    parts.push(tab === chosen ? [`[${tabTitle(tab)}]`, "strong"] : [` ${tabTitle(tab)} `, "quiet"]);
    parts.push([GAP, "quiet"]);
  }
  const used = parts.reduce((sum, [text]) => sum + widthOf(text), 0);
  const tail = note === "" ? "" : `─ ${note} `;
  return (
    <Line
      width={width}
      parts={[...parts, [tail, "quiet"], ["─".repeat(Math.max(0, width - used - widthOf(tail))), "quiet"]]}
    />
  );
}
