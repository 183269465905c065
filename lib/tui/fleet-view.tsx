import type { ReactNode } from "react";
import { troubleOf } from "../contract/surfaces/host-record.ts";
import { counted } from "../support/counted.ts";
import { placed, rowOf, titlesOf } from "./columns.ts";
import { type FleetModel, type FleetQuery, type HostOrder, type HostRow, statusText } from "./fleet-model.ts";
import { Line, type Part } from "./line.tsx";
import { bar, count, fit, moment, percent, widthOf } from "./text.ts";
import type { Theme } from "./theme.ts";

interface Props {
  fleet: FleetModel | undefined;
  query: FleetQuery;
  searching: boolean;
  width: number;
  height: number;
  scroll: number;
  now: number;
}

/** Versions that get a bar of their own, by the height of the view. */
const barsFor = (height: number): number => (height >= 24 ? 6 : height >= 14 ? 4 : 2);

/** Columns of the screen: thousands of names are measured, and nearly all are of plain letters. */
const columnsOf = (text: string): number => (/^[\x20-\x7e]*$/.test(text) ? text.length : widthOf(text));

/** Lines of a fleet view that are not hosts: the sum, the bars, the search and the column names. */
export function hostRowsOf(fleet: FleetModel | undefined, height: number): number {
  const bars = Math.min(barsFor(height), fleet?.versions().length ?? 0);
  return Math.max(1, height - 3 - bars);
}

/** Shows who runs what: versions as bars, then the hosts, failing ones first. */
export function FleetView(props: Props): ReactNode {
  const { fleet, query, searching, width, height, scroll, now } = props;
  if (fleet === undefined)
    return <Line width={width} parts={[["  The fleet of a target is shown once one is selected.", "quiet"]]} />;
  if (!fleet.complete && fleet.size + fleet.stale === 0) {
    const waiting: Part = fleet.error === undefined ? ["  Reading the fleet…", "quiet"] : [`  ${fleet.error}`, "bad"];
    return <Line width={width} parts={[waiting]} />;
  }
  const rows = fleet.rows(query);
  const longest = (text: (row: HostRow) => string): number =>
    rows.reduce((most, row) => Math.max(most, columnsOf(text(row))), 0);
  const columns = placed("hosts", width, {
    host: longest(({ id }) => id),
    version: longest(({ version }) => version),
    // The oldest one may need its day.
    reported: moment(
      rows.reduce((oldest, { at }) => (at === 0 ? oldest : Math.min(oldest, at)), now),
      now,
    ).length,
  });
  const page = hostRowsOf(fleet, height);
  const start = Math.min(scroll, Math.max(0, rows.length - page));
  return (
    <>
      <Line width={width} parts={summary(fleet)} />
      <VersionBars fleet={fleet} query={query} width={width} height={height} />
      <Line width={width} parts={searchLine(query, searching, rows.length, start, page)} />
      <Line width={width} parts={[titlesOf(columns)]} />
      {rows.slice(start, start + page).map((row) => (
        <Line key={row.id} width={width} parts={rowOf(columns, "  ", hostCells(row, query.latest, now))} />
      ))}
    </>
  );
}

function summary(fleet: FleetModel): Part[] {
  const parts: Part[] = [[`  ${counted(fleet.size, "host", count(fleet.size))}`, "strong"]];
  if (fleet.failing > 0) parts.push([`  ${count(fleet.failing)} failing`, "bad"]);
  if (fleet.stale > 0) parts.push([`  ${count(fleet.stale)} stale`, "attention"]);
  if (!fleet.complete) parts.push(["  reading…", "busy"]);
  if (fleet.error !== undefined) parts.push([`  ${fleet.error}`, "bad"]);
  return parts;
}

function VersionBars({
  fleet,
  query,
  width,
  height,
}: Pick<Props, "query" | "width" | "height"> & { fleet: FleetModel }): ReactNode {
  const versions = fleet.versions();
  const shown = barsFor(height);
  const own = versions.length > shown ? versions.slice(0, shown - 1) : versions;
  const others = versions.slice(own.length);
  const rows = [...own];
  if (others.length > 0) {
    const sum = (of: "hosts" | "failing"): number => others.reduce((total, share) => total + share[of], 0);
    rows.push({ version: counted(others.length, "other"), hosts: sum("hosts"), failing: sum("failing") });
  }
  const size = Math.max(10, width - 54);
  return rows.map(({ version, hosts, failing }) => {
    const share = hosts / Math.max(1, fleet.size);
    return (
      <Line
        key={version}
        width={width}
        parts={[
          [`  ${fit(version, 18)} `, version === query.latest ? "strong" : "plain"],
          [bar(share, size, " "), failing > 0 ? "attention" : "good"],
          [` ${percent(share)} ${count(hosts).padStart(8)}`],
          [failing > 0 ? `  ${count(failing)} failing` : "", "bad"],
        ]}
      />
    );
  });
}

function searchLine(query: FleetQuery, searching: boolean, found: number, start: number, page: number): Part[] {
  const shown = found === 0 ? "none" : `${count(start + 1)}–${count(Math.min(found, start + page))} of ${count(found)}`;
  const search: Part =
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
  host: (): Part => [row.id],
  version: (): Part => [row.version, row.version === latest || latest === null ? "plain" : "attention"],
  status: (): Part => [statusText(row), row.held || row.stale ? "attention" : STATUS_LOOK[row.status]],
  reported: (): Part => [row.at === 0 ? "" : moment(row.at, now), "quiet"],
  error: (): Part => [troubleOf(row), "quiet"],
});
