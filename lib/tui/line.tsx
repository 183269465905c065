import { Text } from "ink";
import { createContext, type ReactNode, useContext } from "react";
import { fit, widthOf } from "./text.ts";
import { type Look, type Theme, themeOf } from "./theme.ts";

export const ThemeContext = createContext<Theme>(themeOf(false));
export const useTheme = (): Theme => useContext(ThemeContext);

/** A part of a line: its text, and how it looks. */
export type Part = readonly [text: string, look?: keyof Theme | Look];

/** One line of exactly `width` columns, made of parts; what is too long is cut off. */
export function Line({
  parts,
  width,
  inverse,
}: {
  parts: readonly Part[];
  width: number;
  inverse?: boolean;
}): ReactNode {
  const theme = useTheme();
  let left = width;
  const shown = parts.map(([text, look], index) => {
    const size = index === parts.length - 1 ? left : Math.min(widthOf(text), left);
    left -= size;
    // One colour for the whole of a highlighted line: others would be hard to read in it.
    const props = inverse === true ? { inverse } : typeof look === "string" ? theme[look] : look;
    return (
      <Text key={index} {...props}>
        {fit(text, size)}
      </Text>
    );
  });
  return <Text wrap="truncate">{shown}</Text>;
}

/** A title line: `── Fleet ─ 12 hosts ─────`. */
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
        [`${text} `, strong ? { bold: true } : "plain"],
        [tail, "quiet"],
        ["─".repeat(rest), "quiet"],
      ]}
    />
  );
}
