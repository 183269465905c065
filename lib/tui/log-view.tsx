import type { ReactNode } from "react";
import { Line, type LinePart, Title } from "./line.tsx";
import type { LogModel, ShownLine } from "./log-feed.ts";
import type { Overlay } from "./navigation.ts";
import { pieces, wrap } from "./text.ts";

/** Wrapped rows of lines, which do not change while the width stays. */
const broken = new WeakMap<ShownLine, { width: number; rows: LinePart[][] }>();

/** Place in a log, and the search in it. */
export type LogPlace = Pick<Overlay, "at" | "find" | "finding">;

/** Returns the rows of a log that have the searched text in any case, with no text cut off. */
export const logRows = (log: LogModel | undefined, { at, find = "" }: LogPlace, width: number): LinePart[][] =>
  linesWith(log?.shown(at > 0) ?? [], find.toLowerCase()).flatMap((line) => {
    const known = broken.get(line);
    if (known?.width === width) return known.rows;
    const rows = rowsOf(line, width);
    broken.set(line, { width, rows });
    return rows;
  });

const linesWith = (lines: readonly ShownLine[], text: string): readonly ShownLine[] =>
  text === "" ? lines : lines.filter((line) => `${line.unit ?? ""} | ${line.text}`.toLowerCase().includes(text));

function rowsOf({ unit, text }: ShownLine, width: number): LinePart[][] {
  const head = unit === null ? "" : `${unit} | `;
  return pieces(head + text, width - 2).map((piece, index): LinePart[] =>
    index === 0 && piece.startsWith(head) ? [["  "], [head, "busy"], [piece.slice(head.length)]] : [[`  ${piece}`]],
  );
}

const notesOf = (log: LogModel | undefined, width: number): string[] =>
  log?.note === undefined ? [] : wrap(log.note, width - 2);

/** Returns how many rows of a log fit. */
export const logPage = (log: LogModel | undefined, width: number, height: number): number =>
  Math.max(1, height - 1 - notesOf(log, width).length);

/** Shows the end of a target's log, or earlier rows. */
export function LogView(props: {
  title: string;
  log: LogModel | undefined;
  place: LogPlace;
  width: number;
  height: number;
}): ReactNode {
  const { title, log, width, height } = props;
  const { at: scroll, find = "", finding = false } = props.place;
  const notes = notesOf(log, width);
  const page = logPage(log, width, height);
  const rows = logRows(log, props.place, width);
  const end = rows.length - Math.min(scroll, Math.max(0, rows.length - page));
  const start = Math.max(0, end - page);
  const place = rows.length > page ? `${start + 1}–${end} of ${rows.length}` : "";
  const search = finding ? `/${find}▏ ` : find === "" ? "" : `/${find} `;
  const note = search + (scroll > 0 ? `${place}, held here: End goes on` : place);
  return (
    <>
      <Title text={`Log of ${title}`} note={note} width={width} strong />
      {rows.length === 0 && notes.length === 0 && (
        <Line
          width={width}
          parts={[[find === "" ? "  Nothing was written yet." : `  No line has “${find}” in it.`, "quiet"]]}
        />
      )}
      {rows.slice(start, end).map((parts, index) => (
        <Line key={index} width={width} parts={parts} />
      ))}
      {notes.map((text, index) => (
        <Line key={`note ${index}`} width={width} parts={[[`  ${text}`, "attention"]]} />
      ))}
    </>
  );
}
