import type { ReactNode } from "react";
import { causeOfCode } from "../contract/blame.ts";
import { WAIT_WORDS } from "../contract/surfaces/host-record.ts";
import { placed, rowOf, titlesOf } from "./columns.ts";
import { Line } from "./line.tsx";
import { moment, span } from "./text.ts";
import type { Theme } from "./theme.ts";
import type { EventLine, PastDeployment } from "./watch-model.ts";

const LOOKS: Record<PastDeployment["status"], readonly [word: string, look: keyof Theme]> = {
  success: ["deployed", "good"],
  went_back: ["went back", "good"],
  unchanged: ["unchanged", "quiet"],
  failed: ["failed", "bad"],
  rolled_back: ["rolled back", "attention"],
};

/** Returns the word for a deployment: of one that blames no version, for why it ended. */
function outcomeOf(status: PastDeployment["status"], code: string | null) {
  const cause = code === null ? undefined : causeOfCode(code);
  return cause === undefined ? LOOKS[status] : ([WAIT_WORDS[cause], "attention"] as const);
}

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

/** Width from which a sentence explains the result instead of a code, in columns. */
const ROOM_FOR_SENTENCE = 24;

/** Lists deployments, newest first. */
export function HistoryView({ rows, width, height, scroll, now, titleOf = itself }: Props<PastDeployment>): ReactNode {
  if (rows.length === 0) return <Line width={width} parts={[["  Nothing was deployed yet.", "quiet"]]} />;
  const columns = placed("history", width);
  const page = height - 1;
  const start = Math.min(scroll, Math.max(0, rows.length - page));
  return (
    <>
      <Line width={width} parts={[titlesOf(columns)]} />
      {rows.slice(start, start + page).map((row) => {
        const { at, target, version, status, durationMs, message, code } = row;
        const cells = rowOf(columns, "  ", {
          when: () => [moment(at, now), "quiet"],
          target: () => [titleOf(target)],
          version: () => [version ?? "–"],
          outcome: () => outcomeOf(status, code),
          took: () => [span(durationMs), "quiet"],
          why: (size) => [(size < ROOM_FOR_SENTENCE ? code : message) ?? ""],
        });
        return <Line key={`${at} ${target} ${version}`} width={width} parts={cells} />;
      })}
    </>
  );
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
