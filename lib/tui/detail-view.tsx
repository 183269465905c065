import type { ReactNode } from "react";
import { type Situation, whyNotNewest } from "../agent/newest/why.ts";
import { stateOf } from "../agent/watch/target-state.ts";
import type { HostFactIn } from "../contract/facts/host-shown.ts";
import { type HostRow, hostTrouble, statusText } from "./fleet-model.ts";
import { Line, type LinePart, Title } from "./line.tsx";
import type { Tab } from "./navigation.ts";
import { moment, span, wrap } from "./text.ts";
import type { Theme } from "./theme.ts";
import type { TargetView, WatchModel } from "./watch-model.ts";

/** Most hosts, deployments and events that the details show; the views have all of them. */
const MAX_ROWS = 200;

/** Paragraph of the details: its heading, and a text shown in full. */
interface Paragraph {
  heading: string;
  text: string;
  look?: keyof Theme;
}

/** Subject of the details: the selected target, and the rows of the active view. */
export interface DetailSubject {
  target: TargetView | undefined;
  tab: Tab;
  model: Pick<WatchModel, "history" | "events">;
  /** Rows of the fleet, searched and filtered. */
  hosts: readonly HostRow[];
  now: number;
}

/** Returns the details as lines of text, for the clipboard. */
export const detailText = (subject: DetailSubject): string =>
  paragraphs(subject)
    .map(({ heading, text }) => `${heading}: ${text}`)
    .join("\n");

/** Returns the details as rows of the screen, every text wrapped. */
export function detailRows(subject: DetailSubject, width: number): LinePart[][] {
  return paragraphs(subject).flatMap(({ heading, text, look = "plain" }): LinePart[][] => [
    [[`  ${heading}`, "strong"]],
    ...wrap(text, width - 6).map((line): LinePart[] => [[`    ${line}`, look]]),
  ]);
}

/** Shows the details of the selected target, and of the chosen view's rows, in full. */
export function DetailView(props: {
  rows: readonly LinePart[][];
  scroll: number;
  width: number;
  height: number;
}): ReactNode {
  const { rows, scroll, width, height } = props;
  const page = height - 1;
  const start = Math.min(scroll, Math.max(0, rows.length - page));
  const note = rows.length > page ? `${start + 1}–${Math.min(rows.length, start + page)} of ${rows.length}` : "";
  return (
    <>
      <Title text="Details" note={note} width={width} strong />
      {rows.slice(start, start + page).map((parts, index) => (
        <Line key={index} width={width} parts={parts} />
      ))}
    </>
  );
}

function paragraphs(subject: DetailSubject): Paragraph[] {
  const { tab } = subject;
  const about = tab === "fleet" ? hostParagraphs : tab === "events" ? eventParagraphs : historyParagraphs;
  return [...targetParagraphs(subject), ...about(subject)];
}

function targetParagraphs({ target, now }: DetailSubject): Paragraph[] {
  if (target === undefined) return [];
  const { held, unhealthy, error, deployment } = target;
  const found: Paragraph[] = [
    {
      heading: target.title === target.name ? target.name : `${target.title} (${target.name})`,
      text: `${stateOf(target)}${target.paused && stateOf(target) !== "paused" ? ", paused" : ""}; runs ${target.running ?? "nothing"}, latest ${target.latest ?? "none"}; ${target.projectRoot}`,
    },
  ];
  const why = whyNotNewest(situationOf(target));
  if (why.version !== null && why.reason !== "deploying" && (held !== undefined || error === undefined))
    found.push({ heading: `Why ${why.version} does not run`, text: why.message, look: "attention" });
  if (unhealthy !== undefined) {
    const heading = `Unhealthy since ${moment(Date.parse(unhealthy.since), now)}`;
    found.push({ heading, text: unhealthy.message, look: "bad" });
  }
  if (error !== undefined) found.push({ heading: `Error ${error.code}`, text: error.message, look: "bad" });
  if (deployment?.message !== undefined && deployment.message !== error?.message) {
    const when = moment(deployment.startedAt, now);
    found.push({ heading: `The deployment of ${when} failed`, text: deployment.message, look: "bad" });
  }
  for (const { id, action, message } of deployment?.steps ?? []) {
    if (message !== undefined) found.push({ heading: `Step ${id} (${action})`, text: message, look: "bad" });
  }
  if (deployment !== undefined && deployment.output.length > 0) {
    found.push({ heading: "Output", text: deployment.output.join("\n"), look: "quiet" });
  }
  return found;
}

/**
 * Returns the facts of a watched target that explain why it does not run the newest version, as far as its watch knows.
 */
const situationOf = (target: TargetView): Situation => ({
  target: target.name,
  running: target.running,
  given: target.checked || target.latest !== null ? target.latest : undefined,
  pin: target.pin === null ? null : { version: target.pin },
  ...{ paused: target.paused, held: target.held, error: target.error, heard: target.latest },
  deploying: target.deploying || target.queued,
});

const historyParagraphs = ({ model, target, now }: DetailSubject): Paragraph[] =>
  model.history
    .filter((row) => row.target === target?.name && row.message !== null && row.message !== target.error?.message)
    .slice(0, MAX_ROWS)
    .map((row) => ({
      heading: `${moment(row.at, now)}  ${row.version ?? "–"}  ${row.status}${row.code === null ? "" : ` (${row.code})`}, ${span(row.durationMs)}`,
      text: row.message ?? "",
    }));

const eventParagraphs = ({ model, target, now }: DetailSubject): Paragraph[] =>
  model.events
    .filter((row) => row.target === undefined || row.target === target?.name)
    .slice(-MAX_ROWS)
    .toReversed()
    .map(({ at, text, bad }) => ({ heading: moment(at, now), text, look: bad ? "bad" : "plain" }));

const hostParagraphs = ({ hosts, now }: DetailSubject): Paragraph[] =>
  hosts.slice(0, MAX_ROWS).map((row) => {
    const { error_message: trouble, running_signer: signer, ...heading } = hostTexts(row, now);
    return {
      heading: Object.values(heading)
        .filter((text) => text !== undefined)
        .join("  "),
      text: `${trouble}${signer}`,
      look: row.status === "success" ? "plain" : "bad",
    };
  });

/** Returns the facts of a host as texts, in their order in its heading. */
const hostTexts = (row: HostRow, now: number) =>
  ({
    host_id: row.id,
    running_version: row.version,
    status: statusText(row),
    completed_at: row.at === 0 ? undefined : moment(row.at, now),
    error_message: hostTrouble(row, (at) => moment(at, now)) || "no error",
    running_signer: signerText(row) + (row.notes === "" ? "" : `; ${row.notes}`),
  }) satisfies Record<HostFactIn<"details">, string | undefined>;

const signerText = ({ signer }: HostRow): string =>
  signer === undefined ? "" : signer === null ? "; no signer was demanded" : `; signed by ${signer}`;
