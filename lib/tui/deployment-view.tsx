import type { ReactNode } from "react";
import { counted } from "../support/counted.ts";
import { clock } from "../support/local-time.ts";
import { sizeText } from "../support/size-text.ts";
import type { DeploymentModel, Stage, StepView } from "./deployment-model.ts";
import { Line, type LinePart } from "./line.tsx";
import { bar, fit, percent, span, spark, widthOf, wrap } from "./text.ts";
import type { Theme } from "./theme.ts";
import type { TargetView } from "./watch-model.ts";

interface Props {
  target: TargetView | undefined;
  width: number;
  height: number;
  scroll: number;
  now: number;
}

/** Columns of the chart of a stage's throughput: one per second. */
const SPEED_COLUMNS = 30;

/** Row of the view. */
export type ViewRow = readonly LinePart[];

/** Shows the current deployment of a target, or its last one: stages with their bars, steps, output. */
export function DeploymentView({ target, width, height, scroll, now }: Props): ReactNode {
  const rows = deploymentRows(target, width, now);
  const start = Math.min(scroll, Math.max(0, rows.length - height));
  return rows.slice(start, start + height).map((parts, index) => <Line key={index} width={width} parts={parts} />);
}

/** Wraps a text over as many rows as it needs. */
const wholeText = (text: string, look: keyof Theme, width: number): ViewRow[] =>
  wrap(text, width - 2).map((line): ViewRow => [[`  ${line}`, look]]);

export function deploymentRows(target: TargetView | undefined, width: number, now: number): ViewRow[] {
  if (target === undefined) return [[["  Nothing is selected."]]];
  const { deployment } = target;
  const rows: ViewRow[] = [];
  if (target.held !== undefined) {
    const { version, reason, message } = target.held;
    rows.push(...wholeText(`${version} is held back (${reason}): ${message}`, "attention", width));
    if (reason !== "paused") rows.push([["  t gives it another chance; a newer version is taken anyway.", "quiet"]]);
  }
  if (deployment === undefined) {
    if (target.error !== undefined)
      rows.push(...wholeText(`${target.error.code}: ${target.error.message}`, "bad", width));
    const idle =
      target.latest === null
        ? "Nothing is published yet."
        : `${target.running ?? "Nothing"} runs; nothing was deployed since the watch began.`;
    return [...rows, [[`  ${idle}`, "quiet"]], [[`  Project root ${target.projectRoot}`, "quiet"]]];
  }
  rows.push(headline(deployment, now));
  for (const stage of deployment.stages) rows.push(stageRow(stage, deployment, width));
  for (const warning of deployment.warnings) rows.push(...wholeText(warning, "attention", width));
  if (deployment.note !== undefined) rows.push(...wholeText(deployment.note, "attention", width));
  if (deployment.message !== undefined) rows.push(...wholeText(deployment.message, "bad", width));
  else if (target.error !== undefined)
    rows.push(...wholeText(`${target.error.code}: ${target.error.message}`, "bad", width));
  for (const step of deployment.steps) rows.push(stepRow(step));
  for (const line of deployment.output.slice(-20)) rows.push([[`    ${line}`, "quiet"]]);
  return rows;
}

function headline(deployment: DeploymentModel, now: number): ViewRow {
  const { version, previous, startedAt, endedAt, outcome } = deployment;
  const from = previous === null || previous === version ? "" : `${previous} → `;
  const [word, look] = outcomeWord(outcome);
  return [
    [`  ${from}${version} `, "strong"],
    [`${word} `, look],
    [
      `started ${clock(startedAt)}, ${endedAt === undefined ? "running for" : "took"} ${span((endedAt ?? now) - startedAt)}`,
      "quiet",
    ],
  ];
}

function outcomeWord(outcome: DeploymentModel["outcome"]): [string, keyof Theme] {
  switch (outcome) {
    case undefined:
      return ["deploying", "busy"];
    case "deployed":
      return ["deployed", "good"];
    case "unchanged":
      return ["unchanged", "good"];
    case "rolled_back":
      return ["rolled back", "bad"];
    case "failed":
      return ["failed", "bad"];
  }
}

const SIGNS: Record<Stage["status"], readonly [string, keyof Theme]> = {
  waiting: ["·", "quiet"],
  active: ["▸", "busy"],
  done: ["✓", "good"],
  failed: ["✗", "bad"],
  undone: ["↶", "attention"],
};

function stageRow(stage: Stage, deployment: DeploymentModel, width: number): ViewRow {
  const [sign, look] = SIGNS[stage.status];
  const size = Math.max(10, Math.min(40, width - 66));
  const facts = stageFacts(stage, deployment);
  const room = Math.min(SPEED_COLUMNS, width - size - 24 - widthOf(facts));
  return [
    [`  ${sign} `, look],
    [fit(stage.name, 9), stage.status === "waiting" ? "quiet" : "plain"],
    [` ${bar(stage.fraction, size)}`, stage.status === "waiting" ? "quiet" : look],
    [` ${percent(stage.fraction)}  `],
    [facts, "quiet"],
    [throughputChart(stage, deployment, room), "busy"],
  ];
}

/** Returns a small chart of a stage's throughput over the last seconds, where that is useful. */
function throughputChart({ name }: Stage, { transfer, unpacking }: DeploymentModel, room: number): string {
  const throughput = name === "download" ? transfer : name === "unpack" ? unpacking : undefined;
  const seconds = throughput?.bytesPerSecond(room) ?? [];
  return seconds.length < 2 || !seconds.some((bytes) => bytes > 0) ? "" : `  ${spark(seconds)}`;
}

function stageFacts({ name, status }: Stage, deployment: DeploymentModel): string {
  switch (name) {
    case "download": {
      const { bytes, size, transfer } = deployment;
      if (status === "waiting") return "";
      const amount = status === "done" || size === null ? sizeText(bytes) : `${sizeText(bytes)} of ${sizeText(size)}`;
      if (status !== "active") return amount;
      const remaining = transfer.remaining(size);
      const speed = transfer.rate === undefined ? "" : `  ${sizeText(Math.round(transfer.rate))}/s`;
      return `${amount}${speed}${remaining === undefined ? "" : `  ${span(Math.max(1000, remaining))} left`}`;
    }
    case "unpack": {
      const { unpackedBytes, files } = deployment;
      if (unpackedBytes === 0) return "";
      return `${sizeText(unpackedBytes)}${files === undefined ? "" : ` in ${counted(files, "file")}`}`;
    }
    case "verify":
      return deployment.checks.join(", ");
    case "install":
    case "health": {
      const actions = deployment.steps.map(({ action }) => action);
      if (name === "health" && status === "done" && actions.length > 0 && !actions.includes("healthcheck"))
        return "no check in the plan";
      const active = deployment.steps.find((step) => step.status === "active" || step.status === "failed");
      return active !== undefined && (status === "active" || status === "failed")
        ? `${active.id} (${active.action})`
        : "";
    }
    default:
      return "";
  }
}

function stepRow({ id, action, status, durationMs, message }: StepView): ViewRow {
  const signs = {
    waiting: SIGNS.waiting,
    active: SIGNS.active,
    done: SIGNS.done,
    failed: SIGNS.failed,
    skipped: SIGNS.waiting,
  };
  const [sign, look] = signs[status];
  const took = durationMs === undefined ? "" : span(durationMs);
  return [
    [`    ${sign} `, look],
    [`${fit(`${id} (${action})`, 36)} `, status === "waiting" ? "quiet" : "plain"],
    [took.padStart(8), "quiet"],
    [message === undefined ? "" : `  ${message}`, "bad"],
  ];
}
