import { Text } from "ink";
import { createContext, memo, type ReactNode, useContext } from "react";
import { fit, widthOf } from "./text.ts";
import { type Theme, themeOf } from "./theme.ts";

export const ThemeContext = createContext<Theme>(themeOf(false));
export const useTheme = (): Theme => useContext(ThemeContext);

/** Part of a line: its text and look. */
export type LinePart = readonly [text: string, look?: keyof Theme];

interface LineProps {
  parts: readonly LinePart[];
  width: number;
  inverse?: boolean;
}

const same = (a: LineProps, b: LineProps): boolean =>
  a.width === b.width &&
  a.inverse === b.inverse &&
  a.parts.length === b.parts.length &&
  a.parts.every(([text, look], index) => text === b.parts[index]![0] && look === b.parts[index]![1]);

/**
 * Line of exactly `width` columns, made of parts; what is too long is cut off. Drawn again only when its content
 * changes.
 */
export const Line = memo(function Line({ parts, width, inverse }: LineProps): ReactNode {
  const theme = useTheme();
  let left = width;
  const shown = parts.map(([text, look], index) => {
    const size = index === parts.length - 1 ? left : Math.min(widthOf(text), left);
    left -= size;
    // One colour for the whole of a highlighted line: others would be hard to read in it.
    const props = inverse === true ? { inverse } : look === undefined ? theme.plain : theme[look];
    return (
      <Text key={index} {...props}>
        {fit(text, size)}
      </Text>
    );
  });
  return <Text wrap="truncate">{shown}</Text>;
}, same);

/** Title line: `── Fleet ─ 12 hosts ─────`. */
export function Title({
  text,
  note = "",
  width,
  strong,
}: {
  text: string;
  note?: string;
  width: number;
  strong: boolean;
}): ReactNode {
  const head = `── ${text} `;
  const tail = note === "" ? "" : `─ ${note} `;
  const rest = Math.max(0, width - widthOf(head) - widthOf(tail));
  return (
    <Line
      width={width}
      parts={[
        ["── ", "quiet"],
        [`${text} `, strong ? "strong" : "plain"],
        [tail, "quiet"],
        ["─".repeat(rest), "quiet"],
      ]}
    />
  );
}
