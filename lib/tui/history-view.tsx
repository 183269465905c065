import type { ReactNode } from "react";
import type { EventLine, PastDeployment } from "../models/watch.ts";
import { Line, type Part } from "./line.tsx";
import { columns, moment, span } from "./text.ts";
import type { Theme } from "./theme.ts";

const LOOKS: Record<PastDeployment["status"], readonly [word: string, look: keyof Theme]> = {
  success: ["deployed", "good"],
  unchanged: ["unchanged", "quiet"],
  failed: ["failed", "bad"],
  rolled_back: ["rolled back", "attention"],
};

interface Props<T> {
  rows: readonly T[];
  width: number;
  height: number;
  scroll: number;
  now: number;
  /** Returns a target's name for people. */
  titleOf?: (target: string) => string;
}

const itself = (target: string): string => target;

/** Deployments, newest first. */
export function HistoryView({ rows, width, height, scroll, now, titleOf = itself }: Props<PastDeployment>): ReactNode {
  if (rows.length === 0) return <Line width={width} parts={[["  Nothing was deployed yet.", "quiet"]]} />;
  const sizes = sizesFor(width);
  const page = height - 1;
  const start = Math.min(scroll, Math.max(0, rows.length - page));
  return (
    <>
      <Line
        width={width}
        parts={[
          [
            `  ${columns(["WHEN", 16], ["TARGET", sizes.target], ["VERSION", sizes.version], ["OUTCOME", 11], ["TOOK", 8])} WHY`,
            "quiet",
          ],
        ]}
      />
      {rows.slice(start, start + page).map((row) => (
        <Line
          key={`${row.at} ${row.target} ${row.version}`}
          width={width}
          parts={pastParts({ ...row, target: titleOf(row.target) }, sizes, now)}
        />
      ))}
    </>
  );
}

interface Sizes {
  target: number;
  version: number;
  /** The code, where a sentence has no room. */
  why: "message" | "code";
}

const sizesFor = (width: number): Sizes =>
  width >= 100 ? { target: 30, version: 12, why: "message" } : { target: 18, version: 8, why: "code" };

function pastParts(row: PastDeployment, sizes: Sizes, now: number): Part[] {
  const [word, look] = LOOKS[row.status];
  return [
    [`  ${columns([moment(row.at, now), 16])} `, "quiet"],
    [`${columns([row.target, sizes.target], [row.version ?? "–", sizes.version])} `],
    [`${columns([word, 11])} `, look],
    [`${columns([span(row.durationMs), 8])} `, "quiet"],
    [row[sizes.why] ?? ""],
  ];
}

/** Shows the watch's events, the newest at the bottom. @param scroll lines back from the end */
export function EventsView({ rows, width, height, scroll, now, titleOf = itself }: Props<EventLine>): ReactNode {
  const end = rows.length - Math.min(scroll, Math.max(0, rows.length - height));
  return rows.slice(Math.max(0, end - height), end).map(({ at, target, text, bad }, index) => (
    <Line
      key={index}
      width={width}
      parts={[
        [`  ${moment(at, now)} `, "quiet"],
        [target === undefined ? "" : `${titleOf(target)} `, "busy"],
        [text, bad ? "bad" : "plain"],
      ]}
    />
  ));
}
