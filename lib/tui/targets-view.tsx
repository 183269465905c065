import type { ReactNode } from "react";
import type { HoldReason } from "../agent/watch/events.ts";
import { stateOf } from "../agent/watch/target-state.ts";
import type { TargetView } from "./watch-model.ts";
import { HIDDEN_AT_FIRST, type Placed, placed, rowOf, titlesOf } from "./columns.ts";
import { windowStart } from "./layout.ts";
import { Line, type Part, Title } from "./line.tsx";
import { bar, percent, span } from "./text.ts";

interface Props {
  targets: readonly TargetView[];
  selected: string | undefined;
  marked?: ReadonlySet<string>;
  /** The order in words, when it is not the listed one. */
  order?: string;
  /** Columns that are not shown. */
  hidden?: ReadonlySet<string>;
  width: number;
  height: number;
  now: number;
}

/** Columns of the state from which on the reason is told beside it. */
const ROOM_FOR_REASON = 60;

const NONE: ReadonlySet<string> = new Set();

/** Returns the row of the targets' list that is shown at a line of it, the title being line 0. */
export function targetAt(line: number, count: number, selected: number, height: number): number | undefined {
  const page = height - 2;
  if (line < 2 || line >= height) return undefined;
  const row = windowStart(Math.max(0, selected), page, count) + line - 2;
  return row < count ? row : undefined;
}

/** All targets: what runs, what is latest, and what is going on. The selected one is always among the rows. */
export function TargetsView(props: Props): ReactNode {
  const { targets, selected, marked = NONE, order = "", hidden = HIDDEN_AT_FIRST, width, height, now } = props;
  const page = height - 2;
  const at = targets.findIndex(({ name }) => name === selected);
  const start = windowStart(Math.max(0, at), page, targets.length);
  const columns = placed("targets", hidden, width);
  const notes = [
    targets.length > page ? `${start + 1}–${Math.min(targets.length, start + page)} of ${targets.length}` : "",
    order,
    marked.size === 0 ? "" : `${marked.size} marked`,
  ];
  return (
    <>
      <Title text="Targets" note={notes.filter(Boolean).join(" ─ ")} width={width} strong />
      <Line width={width} parts={[titlesOf(columns)]} />
      {targets.slice(start, start + page).map((target) => (
        <Row
          key={target.name}
          target={target}
          columns={columns}
          width={width}
          now={now}
          selected={target.name === selected}
          marked={marked.has(target.name)}
        />
      ))}
    </>
  );
}

interface RowProps {
  target: TargetView;
  columns: Placed<"target" | "running" | "latest" | "state" | "next" | "interval" | "root">[];
  width: number;
  now: number;
  selected: boolean;
  marked: boolean;
}

function Row({ target, columns, width, now, selected, marked }: RowProps): ReactNode {
  const { title, running, latest, intervalMs, projectRoot } = target;
  const behind = latest !== null && latest !== running;
  const parts = rowOf(columns, `${selected ? "›" : " "}${marked ? "●" : " "}`, {
    target: () => [title],
    running: () => [running ?? "none"],
    latest: () => [latest ?? "–", behind ? "attention" : "plain"],
    state: (size) => stateCell(target, size),
    next: () => [nextCheck(target, now), "quiet"],
    interval: () => [span(intervalMs), "quiet"],
    root: () => [projectRoot, "quiet"],
  });
  return <Line width={width} parts={parts} inverse={selected} />;
}

function stateCell(target: TargetView, width: number): Part {
  const state = stateOf(target);
  switch (state) {
    case "deploying": {
      const { fraction, activeStage } = target.deployment!;
      return [`${bar(fraction, Math.min(30, Math.max(4, width - 16)))} ${percent(fraction)} ${activeStage}`, "busy"];
    }
    case "queued":
      return ["waiting for its turn", "busy"];
    case "held":
      return [`${heldText(target.held!.reason)}${target.paused ? ", paused" : ""}`, "attention"];
    case "paused":
      return ["paused", "attention"];
    case "failing":
      return [`failing: ${target.error!.code}${width < ROOM_FOR_REASON ? "" : `, ${target.error!.message}`}`, "bad"];
    case "pinned":
      return [`pinned to ${target.pin}`, "attention"];
    case "current":
      return ["current", "good"];
    case "behind":
      return ["behind", "busy"];
    case "unpublished":
      return ["nothing published yet", "quiet"];
    case "starting":
    case "checking":
      return ["checking", "quiet"];
  }
}

function heldText(reason: HoldReason): string {
  return `held: ${reason === "downgrade" ? "lower version" : reason}`;
}

function nextCheck(target: TargetView, now: number): string {
  if (target.checking) return "now";
  if (target.nextCheckAt === undefined) return "";
  const ms = target.nextCheckAt - now;
  return ms <= 0 ? "now" : `in ${span(Math.max(1000, Math.ceil(ms / 1000) * 1000)).replace(/\.0 s$/, " s")}`;
}
