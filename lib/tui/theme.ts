import type { TextProps } from "ink";

/**
 * Colours by meaning. Only the terminal's own ones that are legible on light and dark backgrounds; words and symbols
 * say the same.
 */
export interface Theme {
  good: Look;
  bad: Look;
  busy: Look;
  attention: Look;
  /** Titles and column names. */
  quiet: Look;
  plain: Look;
  strong: Look;
}

export type Look = Pick<TextProps, "color" | "dimColor" | "bold" | "inverse">;

/** @param coloured false under NO_COLOR (no-color.org) */
export function themeOf(coloured: boolean): Theme {
  const colour = (color: string): Look => (coloured ? { color } : {});
  return {
    good: colour("green"),
    bad: { ...colour("red"), bold: true },
    busy: colour("cyan"),
    attention: colour("magenta"),
    quiet: { dimColor: true },
    plain: {},
    strong: { bold: true },
  };
}
