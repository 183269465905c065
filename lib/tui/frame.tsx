import { Box, Text } from "ink";
import type { ReactNode } from "react";
import { clock, offset } from "../support/local-time.ts";
import { SMALLEST } from "./layout.ts";
import { Line, type LinePart } from "./line.tsx";
import { type Confirmed, KEYS, type Navigation, type Overlay, type Tab, TABS } from "./navigation.ts";
import { fit, widthOf } from "./text.ts";
import type { TargetView } from "./watch-model.ts";

/** First line: title, summary, and the time. */
export function Header({
  title,
  facts,
  width,
  now,
}: {
  title: string;
  facts: readonly LinePart[];
  width: number;
  now: number;
}): ReactNode {
  const used = 1 + widthOf(title) + facts.reduce((sum, [text]) => sum + widthOf(text), 0);
  const time = `${clock(now)} ${offset(now)}`;
  return (
    <Line
      width={width}
      parts={[
        [` ${title}`, "strong"],
        ...facts,
        [" ".repeat(Math.max(1, width - used - time.length - 1)), "plain"],
        [`${time} `, "quiet"],
      ]}
    />
  );
}

/** Target that an action is meant for. */
type Subject = Pick<TargetView, "title" | "running" | "latest" | "previous">;

/** Returns the question with the name last, which a narrow screen cuts. */
export function questionOf(confirming: Confirmed, subject: Subject | undefined): string {
  const { title = "it", running = null, latest = null, previous = null } = subject ?? {};
  switch (confirming) {
    case "redeploy":
      return `Redeploy ${latest ?? "the latest version"} of ${title}?`;
    case "rollback":
      return `Go back from ${running ?? "nothing"}${previous === null ? " to the release that ran before" : ` to ${previous}`} with ${title}?`;
    case "quit":
      return "A deployment is under way and will be undone. Quit?";
  }
}

/** Kinds of keys that a dashboard has. */
export interface KeysOf {
  watching: boolean;
  acting: boolean;
}

const keysOf = ({ watching, acting }: KeysOf): typeof KEYS =>
  KEYS.filter((key) => (watching || key.watching !== true) && (acting || key.acting !== true));

/** Last line: the keys, or a question. */
export function Footer(props: { nav: Navigation; subject?: Subject; width: number } & KeysOf): ReactNode {
  const { nav, subject, width } = props;
  if (nav.confirming !== undefined) {
    const question = questionOf(nav.confirming, subject);
    return (
      <Line
        width={width}
        parts={[
          [" y yes, other keys no  ", "strong"],
          [question, "attention"],
        ]}
      />
    );
  }
  if (nav.searching || nav.overlay?.finding === true)
    return <Line width={width} parts={[[" type to search   Enter keeps it   Esc clears it", "quiet"]]} />;
  if (nav.overlay !== undefined) return <Line width={width} parts={[[` ${CLOSING[nav.overlay.kind]}`, "quiet"]]} />;
  const parts = fitting(props, width).flatMap(({ keys: name, short }): LinePart[] => [
    [` ${name}`, "strong"],
    [` ${short} `, "quiet"],
  ]);
  return <Line width={width} parts={[...parts, ["", "plain"]]} />;
}

/** Keys of what is shown instead of the views. */
const CLOSING: Record<Overlay["kind"], string> = {
  help: "Any key closes this.",
  detail: "j k PgUp PgDn scroll   y copy   Enter Esc close",
  log: "j k PgUp PgDn Home scroll   / search   End goes on with what is written   l Esc close",
};

/** Returns the keys that fit; the help has all of them. */
function fitting(of: KeysOf, width: number): typeof KEYS {
  let keys = keysOf(of).filter(({ short }) => short !== undefined);
  const size = (): number => keys.reduce((sum, { keys: name, short }) => sum + widthOf(name) + widthOf(short!) + 3, 0);
  for (const dispensable of ["filter", "check", "search", "view", "target", "retry"]) {
    if (size() > width) keys = keys.filter(({ short }) => short !== dispensable);
  }
  return keys;
}

/** Lists every key with what it does. */
export function Help({ width, height, ...of }: { width: number; height: number } & KeysOf): ReactNode {
  const keys = keysOf(of).filter(({ short }) => short !== "view");
  return <KeyList keys={keys} width={width} height={height} />;
}

/** Lists keys with what they do, one per line. */
export function KeyList({
  keys,
  width,
  height,
}: {
  keys: readonly { keys: string; does: string }[];
  width: number;
  height: number;
}): ReactNode {
  const rows: LinePart[][] = [
    [["  Keys", "strong"]],
    ...keys.map(({ keys: name, does }): LinePart[] => [[`  ${fit(name, 24)} `, "busy"], [does]]),
  ];
  return (
    <Box flexDirection="column" height={height}>
      {rows.slice(0, height).map((parts, index) => (
        <Line key={index} width={width} parts={parts} />
      ))}
    </Box>
  );
}

export function TooSmall({ columns, rows }: { columns: number; rows: number }): ReactNode {
  return (
    <Text>
      {`This terminal is ${columns}×${rows}; the dashboard needs ${SMALLEST.columns}×${SMALLEST.rows} or more. `}
      {"Make it larger, or run with --no-tui. q quits."}
    </Text>
  );
}

const TAB_TITLES: Record<Tab, string> = {
  deployment: "Deployment",
  fleet: "Fleet",
  history: "History",
  events: "Events",
};

/** Returns a view's number and title. */
export const tabTitle = (tab: Tab): string => `${TABS.indexOf(tab) + 1} ${TAB_TITLES[tab]}`;

const START = "── ";
const GAP = "  ";

/** Line of all views' titles, each always in the same place, the active one in bold and in brackets. */
export function Tabs({ chosen, note, width }: { chosen: Tab; note: string; width: number }): ReactNode {
  const parts: LinePart[] = [[START, "quiet"]];
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
