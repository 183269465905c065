import { Box } from "ink";
import type { ReactNode } from "react";
import { detailRows, type DetailSubject, DetailView } from "./detail-view.tsx";
import { Help, type KeysOf } from "./frame.tsx";
import type { LogModel } from "./log-feed.ts";
import { logPage, logRows, LogView } from "./log-view.tsx";
import type { Overlay, Shown } from "./navigation.ts";

/** Everything that can be shown instead of the lists and views of a dashboard. */
export interface OverlaySubject {
  detail: DetailSubject;
  /** Log being followed. */
  log?: LogModel | undefined;
  keys: KeysOf;
}

interface OverlayFrame {
  overlay: Overlay;
  subject: OverlaySubject;
  width: number;
  height: number;
}

/** Returns the rows shown instead of the views, in total and at a time. */
export function overlayRows({ overlay, subject, width, height }: OverlayFrame): Required<Shown>["overlay"] {
  switch (overlay.kind) {
    case "detail":
      return { rows: detailRows(subject.detail, width).length, page: height - 1 };
    case "log":
      return { rows: logRows(subject.log, overlay, width).length, page: logPage(subject.log, width, height) };
    case "help":
      return { rows: 0, page: height };
  }
}

/** Shows the help, the details, or a log in place of a dashboard's lists and views. */
export function OverlayView(place: OverlayFrame): ReactNode {
  return (
    <Box flexDirection="column" height={place.height} overflow="hidden">
      {shown(place)}
    </Box>
  );
}

function shown({ overlay, subject, width, height }: OverlayFrame): ReactNode {
  const size = { width, height };
  switch (overlay.kind) {
    case "help":
      return <Help {...subject.keys} {...size} />;
    case "detail":
      return <DetailView rows={detailRows(subject.detail, width)} scroll={overlay.at} {...size} />;
    case "log":
      return <LogView title={subject.detail.target?.title ?? ""} log={subject.log} place={overlay} {...size} />;
  }
}
