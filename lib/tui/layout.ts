import type { Tab } from "./navigation.ts";

/** Smallest screen on which the dashboard fits. */
export const SMALLEST = { columns: 70, rows: 20 } as const;

/** Rectangle of the screen, including its title line. */
export interface PaneSize {
  width: number;
  height: number;
}

export interface DashboardLayout {
  kind: "too small" | "tabs" | "panes";
  width: number;
  height: number;
  targets: PaneSize;
  /** Visible views with their sizes. With tabs it is only the active one. */
  views: Partial<Record<Tab, PaneSize>>;
}

/** Lines of the header and of the footer. */
const FRAME = 2;

/**
 * Returns the place of everything on a screen of this size: one view at a time on a small one, all four on a large one.
 */
export function dashboardLayout(columns: number, rows: number, targets: number, tab: Tab): DashboardLayout {
  const width = columns;
  // The last line stays free: writing into it would make some terminals scroll.
  const height = rows - 1;
  const none = { width: 0, height: 0 };
  if (columns < SMALLEST.columns || rows < SMALLEST.rows)
    return { kind: "too small", width, height, targets: none, views: {} };
  const panes = columns >= 140 && rows >= 36;
  const most = Math.floor((height - FRAME) * (panes ? 0.4 : 0.34));
  // Includes a title and a line of column names.
  const targetsHeight = Math.max(3, Math.min(targets + 2, most));
  const rest = height - FRAME - targetsHeight;
  const place = { width, height: targetsHeight };
  if (!panes) return { kind: "tabs", width, height, targets: place, views: { [tab]: { width, height: rest } } };
  const left = Math.floor((width - 1) / 2);
  const right = width - 1 - left;
  const upper = Math.max(12, Math.ceil(rest * 0.6));
  return {
    kind: "panes",
    width,
    height,
    targets: place,
    views: {
      // In the order of their numbers, as a page is read.
      deployment: { width: left, height: upper },
      fleet: { width: right, height: upper },
      history: { width: left, height: rest - upper },
      events: { width: right, height: rest - upper },
    },
  };
}

/** Returns the first row to show so that `selected` is among `page` rows. */
export function windowStart(selected: number, page: number, rows: number): number {
  return Math.max(0, Math.min(selected - Math.floor(page / 2), rows - page));
}
