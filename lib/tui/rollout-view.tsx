import { Box, useInput, useWindowSize } from "ink";
import { type ReactNode, useSyncExternalStore } from "react";
import { Header } from "./frame.tsx";
import { Line } from "./line.tsx";
import type { Pictures } from "./pictures.ts";
import type { Theme } from "./theme.ts";
import { useClock } from "./use-clock.ts";

export interface RolloutViewProps {
  /** The rollout as lines of text at a moment; their first signs tell how they look. */
  lines: (now: number) => readonly string[];
  pictures: Pictures;
  quit: () => void;
}

const lookOf = (line: string): keyof Theme =>
  line.startsWith("✗") || line.startsWith("halted") ? "bad" : line.startsWith("●") ? "good" : "plain";

/** Shows a rollout live: a bar for each wave, the clock of what it waits for, and failing hosts with their reasons. */
export function RolloutView({ lines, pictures, quit }: RolloutViewProps): ReactNode {
  useSyncExternalStore(pictures.subscribe, pictures.revision);
  const now = useClock();
  const { columns: width, rows } = useWindowSize();
  useInput((input, key) => {
    if (input === "q" || key.escape || (key.ctrl && input === "c")) quit();
  });
  return (
    <Box flexDirection="column" width={width} height={rows - 1} overflow="hidden">
      <Header title="Sealift rollout" facts={[]} width={width} now={now} />
      <Box flexDirection="column" height={rows - 3} overflow="hidden">
        {lines(now)
          .slice(0, Math.max(0, rows - 3))
          .map((line, index) => (
            <Line key={index} width={width} parts={[[` ${line}`, lookOf(line)]]} />
          ))}
      </Box>
      <Line width={width} parts={[[" q quits", "quiet"]]} />
    </Box>
  );
}
