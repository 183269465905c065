import type { ReactNode } from "react";
import { counted } from "../support/counted.ts";
import { type AdoptionGraph, adoptionGraph, GRAPH } from "./adoption.ts";
import { placed, rowOf, titlesOf } from "./columns.ts";
import {
  type FleetModel,
  type FleetQuery,
  type HostOrder,
  type HostRow,
  hostTrouble,
  statusText,
  type VersionShare,
} from "./fleet-model.ts";
import type { PaneSize } from "./layout.ts";
import { Line, type LinePart } from "./line.tsx";
import { bar, fit, formatCount, moment, percent, widthOf } from "./text.ts";
import type { Theme } from "./theme.ts";

interface Props extends PaneSize {
  fleet: FleetModel | undefined;
  query: FleetQuery;
  searching: boolean;
  scroll: number;
  now: number;
}

/** Returns how many versions get a bar of their own, by the height of the view. */
const barsFor = (height: number): number => (height >= 24 ? 6 : height >= 14 ? 4 : 2);

/** Returns the width of a text in columns: thousands of names are measured, nearly all in ASCII. */
const columnsOf = (text: string): number => (/^[\x20-\x7e]*$/.test(text) ? text.length : widthOf(text));

/** Returns how many hosts fit below the sum, the versions, the search and the column names. */
export const hostRowsOf = (fleet: FleetModel | undefined, place: PaneSize): number =>
  Math.max(1, place.height - 3 - (fleet === undefined ? 0 : versionLines(fleet, null, place).length));

/** Shows which hosts run what: versions as bars, then the hosts, failing ones first. */
export function FleetView(props: Props): ReactNode {
  const { fleet, query, searching, width, height, scroll, now } = props;
  if (fleet === undefined)
    return <Line width={width} parts={[["  The fleet of a target is shown once one is selected.", "quiet"]]} />;
  if (!fleet.complete && fleet.size + fleet.stale === 0) {
    const waiting: LinePart =
      fleet.error === undefined ? ["  Reading the fleet…", "quiet"] : [`  ${fleet.error}`, "bad"];
    return <Line width={width} parts={[waiting]} />;
  }
  const rows = fleet.rows(query);
  const longest = (text: (row: HostRow) => string): number =>
    rows.reduce((most, row) => Math.max(most, columnsOf(text(row))), 0);
  const columns = placed("hosts", width, {
    host_id: longest(({ id }) => id),
    running_version: longest(({ version }) => version),
    // The oldest one may need its date.
    completed_at: moment(
      rows.reduce((oldest, { at }) => (at === 0 ? oldest : Math.min(oldest, at)), now),
      now,
    ).length,
  });
  const versions = versionLines(fleet, query.latest, { width, height });
  const page = Math.max(1, height - 3 - versions.length);
  const start = Math.min(scroll, Math.max(0, rows.length - page));
  return (
    <>
      <Line width={width} parts={summary(fleet)} />
      {versions.map((parts, index) => (
        <Line key={index} width={width} parts={parts} />
      ))}
      <Line width={width} parts={searchLine(query, searching, rows.length, start, page)} />
      <Line width={width} parts={[titlesOf(columns)]} />
      {rows.slice(start, start + page).map((row) => (
        <Line key={row.id} width={width} parts={rowOf(columns, "  ", hostCells(row, query.latest, now))} />
      ))}
    </>
  );
}

function summary(fleet: FleetModel): LinePart[] {
  const parts: LinePart[] = [[`  ${counted(fleet.size, "host", formatCount(fleet.size))}`, "strong"]];
  if (fleet.failing > 0) parts.push([`  ${formatCount(fleet.failing)} failing`, "bad"]);
  if (fleet.stale > 0) parts.push([`  ${formatCount(fleet.stale)} stale`, "attention"]);
  if (!fleet.complete) parts.push(["  reading…", "busy"]);
  if (fleet.error !== undefined) parts.push([`  ${fleet.error}`, "bad"]);
  return parts;
}

/**
 * Width from which the graph of the last days fits; the next constant is the width from which it is beside the bars.
 * Columns.
 */
const GRAPH_WIDTH = 80;
const BESIDE_WIDTH = 120;
/** Height of a view from which the graph fits, in lines. */
const GRAPH_HEIGHT = 14;
const NAME = 18;

const graphFor = ({ adoption }: FleetModel, { width, height }: PaneSize): AdoptionGraph | undefined =>
  adoption === undefined || width < GRAPH_WIDTH || height < GRAPH_HEIGHT ? undefined : adoptionGraph(adoption);

/** Returns the lines of a fleet's versions: a bar each, or their hosts of the last days where these fit. */
function versionLines(fleet: FleetModel, latest: string | null, place: PaneSize): LinePart[][] {
  const graph = graphFor(fleet, place);
  const rows = versionRows(fleet, graph, barsFor(place.height));
  const hasBars = graph === undefined || place.width >= BESIDE_WIDTH;
  const size = Math.max(10, place.width - 54 - (graph === undefined ? 0 : GRAPH + 2));
  const named = new Set(rows.map(({ version }) => version));
  const name = (text: string): string => `  ${fit(text, NAME)} `;
  const before = hasBars && graph !== undefined ? "  " : "";
  const lines = rows.map(({ version, hosts, failing, isRest }): LinePart[] => {
    const share = hosts / Math.max(1, fleet.size);
    const look = failing > 0 ? "attention" : "good";
    return [
      [name(version), version === latest ? "strong" : "plain"],
      [hasBars ? bar(share, size, " ") : "", look],
      [graph === undefined ? "" : before + graph.of((each) => (isRest ? !named.has(each) : each === version)), look],
      [` ${percent(share)} ${formatCount(hosts).padStart(8)}`],
      [failing > 0 ? `  ${formatCount(failing)} failing` : "", "bad"],
    ];
  });
  if (graph === undefined) return lines;
  const left = hasBars ? " ".repeat(size) + before : "";
  const { row, most } = graph.failed;
  if (most > 0)
    lines.push([[name("failed on a day")], [left + row, "bad"], [` at most ${formatCount(most)}`, "quiet"]]);
  lines.push([[name(`last ${counted(fleet.adoption!.days.length, "day")}`) + left + graph.axis, "quiet"]]);
  return lines;
}

/** Version with its line, or the sum of those without one. */
type VersionRow = VersionShare & { isRest?: true };

/** Returns the versions that hosts run, then those that they ran in the days of the graph, at most `shown` lines. */
function versionRows(fleet: FleetModel, graph: AdoptionGraph | undefined, shown: number): VersionRow[] {
  const versions = fleet.versions();
  const own: VersionRow[] = versions.length > shown ? versions.slice(0, shown - 1) : versions;
  const others = versions.slice(own.length);
  if (others.length > 0) {
    const sum = (of: "hosts" | "failing"): number => others.reduce((total, share) => total + share[of], 0);
    const version = counted(others.length, "other");
    return [...own, { version, hosts: sum("hosts"), failing: sum("failing"), isRest: true }];
  }
  const running = new Set(versions.map(({ version }) => version));
  const past = graph?.versions.filter((version) => !running.has(version)).slice(0, shown - own.length) ?? [];
  return [...own, ...past.map((version) => ({ version, hosts: 0, failing: 0 }))];
}

function searchLine(query: FleetQuery, searching: boolean, found: number, start: number, page: number): LinePart[] {
  const shown =
    found === 0
      ? "none"
      : `${formatCount(start + 1)}–${formatCount(Math.min(found, start + page))} of ${formatCount(found)}`;
  const search: LinePart =
    searching || query.search !== ""
      ? [`  / ${query.search}${searching ? "▏" : ""}`, searching ? "busy" : "plain"]
      : ["  / search", "quiet"];
  const order = ORDERS[query.order ?? "failing"];
  return [
    search,
    [`   f ${query.filter}`, query.filter === "all" ? "quiet" : "attention"],
    [`   o ${order}   ${shown}`, "quiet"],
  ];
}

const ORDERS: Record<HostOrder, string> = {
  failing: "failing first",
  name: "by name",
  version: "by version",
  report: "latest report first",
};

const STATUS_LOOK: Record<HostRow["status"], keyof Theme> = {
  success: "good",
  failed: "bad",
  rolled_back: "attention",
};

const hostCells = (row: HostRow, latest: string | null, now: number) => ({
  host_id: (): LinePart => [row.id],
  running_version: (): LinePart => [row.version, row.version === latest || latest === null ? "plain" : "attention"],
  status: (): LinePart => [
    statusText(row),
    row.waits !== undefined || row.stale ? "attention" : STATUS_LOOK[row.status],
  ],
  completed_at: (): LinePart => [row.at === 0 ? "" : moment(row.at, now), "quiet"],
  error_message: (): LinePart => [
    [hostTrouble(row, (at) => moment(at, now)), row.notes].filter(Boolean).join("; "),
    "quiet",
  ],
});
