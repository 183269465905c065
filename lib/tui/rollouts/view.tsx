import { Box, useInput, useWindowSize } from "ink";
import { type ReactNode, useRef, useState, useSyncExternalStore } from "react";
import type { RolloutAction } from "../../contract/rollouts/records.ts";
import { Header, KeyList } from "../frame.tsx";
import { keyPresses } from "../key-presses.ts";
import { Line, type LinePart } from "../line.tsx";
import type { Pictures } from "../pictures.ts";
import { widthOf, wrap } from "../text.ts";
import type { Theme } from "../theme.ts";
import { useClock } from "../use-clock.ts";
import { actionsOf, pressRollout, ROLLOUT_KEYS, type RolloutPlace, type ShownRollout } from "./keys.ts";

export interface RolloutViewProps {
  /** Returns the rollout as lines of text at a time; their first characters determine their look. */
  lines: (now: number) => readonly string[];
  standing: () => ShownRollout;
  /** Returns the question before an action. */
  question: (action: RolloutAction) => string;
  /** Returns the outcome of the last action, if any. */
  outcome: () => string | undefined;
  act: (action: RolloutAction) => void;
  pictures: Pictures;
  quit: () => void;
}

const lookOf = (line: string): keyof Theme =>
  line.startsWith("✗") || line.startsWith("halted") ? "bad" : line.startsWith("●") ? "good" : "plain";

/** Breaks a line that does not fit beside a margin; what follows its first line is indented. */
function wrapped(line: string, width: number): string[] {
  const room = width - 1;
  if (widthOf(line) <= room) return [line];
  const [first = "", ...rest] = wrap(line, room - INDENT.length);
  return [first, ...rest.map((text) => INDENT + text)];
}

const INDENT = "  ";

/** Shows a rollout live: a bar for each wave, the time until it continues, and failing hosts with their reasons. */
export function RolloutView(props: RolloutViewProps): ReactNode {
  const { lines, standing, outcome, act, pictures, quit } = props;
  useSyncExternalStore(pictures.subscribe, pictures.revision);
  const now = useClock();
  const { columns: width, rows } = useWindowSize();
  const place = useRef<RolloutPlace>({ helping: false, confirming: undefined });
  const [, draw] = useState(0);
  useInput((text, name) => {
    for (const { input, key } of keyPresses(text, name)) {
      const pressed = pressRollout(place.current, input, key, actionsOf(standing()));
      place.current = pressed.place;
      if (pressed.effect === undefined) continue;
      if ("quit" in pressed.effect) quit();
      else act(pressed.effect.act);
    }
    draw((count) => count + 1);
  });
  const { helping } = place.current;
  const height = Math.max(0, rows - 4);
  const result = outcome();
  return (
    <Box flexDirection="column" width={width} height={rows - 1} overflow="hidden">
      <Header title="Sealift rollout" facts={[]} width={width} now={now} />
      <Box flexDirection="column" height={height} overflow="hidden">
        {helping ? (
          <KeyList keys={ROLLOUT_KEYS.map(({ key, does }) => ({ keys: key, does }))} width={width} height={height} />
        ) : (
          lines(now)
            .flatMap((line) => wrapped(line, width).map((text) => [` ${text}`, lookOf(line)] as const))
            .slice(0, height)
            .map((part, index) => <Line key={index} width={width} parts={[part]} />)
        )}
      </Box>
      <Line width={width} parts={[[result === undefined ? "" : ` ${result}`, "attention"]]} />
      <Line width={width} parts={footer(place.current, props)} />
    </Box>
  );
}

/** Last line: the keys that are useful now, or a question. */
function footer({ helping, confirming }: RolloutPlace, { standing, question }: RolloutViewProps): LinePart[] {
  if (confirming !== undefined)
    return [
      [" y yes, other keys no  ", "strong"],
      [question(confirming), "attention"],
    ];
  if (helping) return [[" Any key closes this.", "quiet"]];
  const can = actionsOf(standing());
  return ROLLOUT_KEYS.filter(({ action }) => action === undefined || can.includes(action)).flatMap(
    ({ key, short }): LinePart[] => [
      [` ${key}`, "strong"],
      [` ${short} `, "quiet"],
    ],
  );
}
