import type { ReactNode } from "react";
import type { HoldReason } from "../agent/watch/events.ts";
import { stateOf } from "../agent/watch/target-state.ts";
import { type Placed, placed, rowOf, titlesOf } from "./columns.ts";
import { windowStart } from "./layout.ts";
import { Line, type LinePart, Title } from "./line.tsx";
import { bar, moment, percent, span } from "./text.ts";
import type { TargetView } from "./watch-model.ts";

interface Props {
  targets: readonly TargetView[];
  selected: string | undefined;
  /** Order in words, if it is not the listed one. */
  order?: string;
  width: number;
  height: number;
  now: number;
}

/** Width from which the reason is beside the state, in columns. */
const ROOM_FOR_REASON = 60;

/**
 * Lists all targets: the running version, the latest one, and the activity. The selected one is always among the rows.
 */
export function TargetsView(props: Props): ReactNode {
  const { targets, selected, order = "", width, height, now } = props;
  const page = height - 2;
  const at = targets.findIndex(({ name }) => name === selected);
  const start = windowStart(Math.max(0, at), page, targets.length);
  const columns = placed("targets", width);
  const notes = [
    targets.length > page ? `${start + 1}–${Math.min(targets.length, start + page)} of ${targets.length}` : "",
    order,
  ];
  return (
    <>
      <Title text="Targets" note={notes.filter(Boolean).join(" ─ ")} width={width} strong />
      <Line width={width} parts={[titlesOf(columns)]} />
      {targets.slice(start, start + page).map((target) => (
        <TargetRow
          key={target.name}
          target={target}
          columns={columns}
          width={width}
          now={now}
          selected={target.name === selected}
        />
      ))}
    </>
  );
}

interface RowProps {
  target: TargetView;
  columns: Placed<"target" | "running" | "latest" | "state" | "next">[];
  width: number;
  now: number;
  selected: boolean;
}

function TargetRow({ target, columns, width, now, selected }: RowProps): ReactNode {
  const { title, running, latest } = target;
  const behind = latest !== null && latest !== running;
  const parts = rowOf(columns, selected ? "› " : "  ", {
    target: () => [title],
    running: () => [running ?? "none"],
    latest: () => [latest ?? "–", behind ? "attention" : "plain"],
    state: (size) => stateCell(target, size, now),
    next: () => [nextCheck(target, now), "quiet"],
  });
  return <Line width={width} parts={parts} inverse={selected} />;
}

function stateCell(target: TargetView, width: number, now: number): LinePart {
  const state = stateOf(target);
  const { unhealthy } = target;
  if (unhealthy !== undefined && (state === "current" || state === "pinned" || state === "behind")) {
    const why = width < ROOM_FOR_REASON ? "" : `: ${unhealthy.message}`;
    return [`unhealthy since ${moment(Date.parse(unhealthy.since), now)}${why}`, "bad"];
  }
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
