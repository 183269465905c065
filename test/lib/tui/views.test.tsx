import { stripVTControlCharacters } from "node:util";
import { Box, renderToString } from "ink";
import type { ReactNode } from "react";
import t from "tap";
import type { WatchEvent } from "../../../lib/agent/watch/events.ts";
import { FleetModel } from "../../../lib/models/fleet.ts";
import { stateOf, WatchModel } from "../../../lib/models/watch.ts";
import { DeploymentView } from "../../../lib/tui/deployment-view.tsx";
import { FleetView } from "../../../lib/tui/fleet-view.tsx";
import { Footer, Header, Help } from "../../../lib/tui/frame.tsx";
import { EventsView, HistoryView } from "../../../lib/tui/history-view.tsx";
import { FIRST_VIEW } from "../../../lib/tui/navigation.ts";
import { sentenceOf } from "../../../lib/tui/spoken-dashboard.tsx";
import { TargetsView } from "../../../lib/tui/targets-view.tsx";
import { widthOf } from "../../../lib/tui/text.ts";

const NOW = new Date(2026, 10, 20, 14, 0, 0).getTime();
const SIZES = [
  { width: 80, height: 16 },
  { width: 200, height: 40 },
];

const started = (names: readonly string[]): WatchEvent => ({
  event: "watch.started",
  targets: names.map((target) => ({
    target,
    kind: "plugin",
    slug: target,
    project_root: "/srv/app",
    interval_ms: 60_000,
    running_version: "1.0.0",
    latest_version: "1.0.0",
    paused: false,
  })),
});

/** A model after some events, a second apart. */
function modelOf(events: readonly WatchEvent[]): WatchModel {
  const model = new WatchModel();
  events.forEach((event, index) => model.apply(event, NOW - (events.length - index) * 1000));
  return model;
}

/** The lines of a view; each must fit. */
function linesOf(view: ReactNode, { width, height }: { width: number; height: number }): string[] {
  const picture = renderToString(
    <Box flexDirection="column" width={width} height={height} overflow="hidden">
      {view}
    </Box>,
    { columns: width },
  );
  return picture.split("\n").map((line) => stripVTControlCharacters(line));
}

const HOSTILE = "\u001b[2J\u001b]0;owned\u0007evil\r\nnext\u202e 日本語 e\u0301 👩‍👩‍👧";

const deploying: WatchEvent[] = [
  started(["plugin:tide-table", "plugin:berth-board"]),
  {
    event: "check.done",
    target: "plugin:tide-table",
    running_version: "1.0.0",
    latest_version: "1.1.0",
    changed: true,
  },
  { event: "deploy.queued", target: "plugin:tide-table", version: "1.1.0" },
  {
    event: "deploy.started",
    target: "plugin:tide-table",
    kind: "plugin",
    slug: "tide-table",
    requested_version: "1.1.0",
    deployment_id: "d",
    project_root: "/srv/app",
  },
  { event: "resolve.ok", target: "plugin:tide-table", version: "1.1.0", running_version: "1.0.0" },
  { event: "fetch.started", target: "plugin:tide-table", size_bytes: 1024 * 1024 * 1024 },
  ...[100, 200, 300].map((mebibytes): WatchEvent => ({
    event: "fetch.progress",
    target: "plugin:tide-table",
    bytes: mebibytes * 1024 * 1024,
    size_bytes: 1024 * 1024 * 1024,
    unpacked_bytes: 2 * mebibytes * 1024 * 1024,
  })),
];

t.test("every view keeps within its rectangle, on small and large screens, whatever the texts are", async (t) => {
  const model = modelOf([
    ...deploying,
    { event: "warning", target: "plugin:tide-table", message: HOSTILE },
    { event: "output", target: "plugin:tide-table", source: "provision", line: HOSTILE.repeat(20) },
    { event: "check.failed", target: "plugin:berth-board", code: "hub_unavailable", message: HOSTILE, failures: 3 },
  ]);
  const fleet = new FleetModel();
  fleet.apply(
    Array.from({ length: 300 }, (_, index) => ({
      host_id: `ホスト-${String(index).padStart(4, "0")}`,
      version: `1.${index % 9}.0-${"x".repeat(index % 40)}`,
      status: index % 7 === 0 ? ("failed" as const) : ("success" as const),
      error_message: index % 7 === 0 ? HOSTILE : null,
      completed_at: null,
    })),
  );
  fleet.complete = true;
  const targets = [...model.targets.values()];
  for (const size of SIZES) {
    const views: Record<string, ReactNode> = {
      targets: <TargetsView targets={targets} selected="plugin:tide-table" {...size} now={NOW} />,
      deployment: <DeploymentView target={targets[0]} {...size} scroll={0} now={NOW} />,
      fleet: (
        <FleetView
          fleet={fleet}
          query={{ search: "", filter: "all", latest: "1.1.0" }}
          searching
          {...size}
          scroll={5}
          now={NOW}
        />
      ),
      history: (
        <HistoryView
          rows={[
            {
              target: "a",
              at: NOW,
              version: HOSTILE,
              status: "failed",
              durationMs: 1,
              code: "internal",
              message: "m".repeat(500),
            },
          ]}
          {...size}
          scroll={0}
          now={NOW}
        />
      ),
      events: <EventsView rows={model.events} {...size} scroll={0} now={NOW} />,
      help: <Help watching {...size} />,
      header: <Header title="Sealift watch" facts={[["  2 targets"]]} width={size.width} now={NOW} />,
      footer: <Footer nav={FIRST_VIEW} watching width={size.width} />,
    };
    for (const [name, view] of Object.entries(views)) {
      const lines = linesOf(view, size);
      t.ok(lines.length <= size.height, `${name} has no more than ${size.height} lines`);
      t.ok(
        lines.every((line) => widthOf(line) <= size.width),
        `${name} has no line longer than ${size.width}`,
      );
      t.notOk(/[\p{Cc}\u202e]/u.test(lines.join("")), `${name} has nothing that a terminal obeys`);
    }
  }
});

t.test("a download shows its bytes, speed and the time that is left", async (t) => {
  const [target] = [...modelOf(deploying).targets.values()];
  const lines = linesOf(<DeploymentView target={target} {...SIZES[0]!} scroll={0} now={NOW} />, SIZES[0]!);
  t.match(lines.join("\n"), /1\.0\.0 → 1\.1\.0 deploying/);
  t.match(lines.join("\n"), /▸ download .*29 % {2}300 MiB of 1 GiB {2}100 MiB\/s {2}7\.2 s left/);
  t.match(lines.join("\n"), /▸ unpack .*600 MiB/);
});

t.test("the table says in a word how each target is", async (t) => {
  const name = "plugin:a";
  const base = [started([name])];
  const done: WatchEvent = {
    event: "check.done",
    target: name,
    running_version: "1.0.0",
    latest_version: "1.0.0",
    changed: false,
  };
  const states: [string, WatchEvent[], RegExp][] = [
    ["starting", [], /checking/],
    ["current", [done], /current/],
    ["unpublished", [{ ...done, latest_version: null, running_version: null }], /nothing published yet/],
    ["paused", [done, { event: "target.paused", target: name }], /paused/],
    [
      "held",
      [done, { event: "target.held", target: name, version: "1.0.0", reason: "quarantined", message: "unhealthy" }],
      /held: quarantined/,
    ],
    [
      "failing",
      [{ event: "check.failed", target: name, code: "timed_out", message: "silent", failures: 1 }],
      /failing: timed_out/,
    ],
    ["queued", [done, { event: "deploy.queued", target: name, version: "2.0.0" }], /waiting for its turn/],
  ];
  for (const [state, events, shown] of states) {
    const [target] = [...modelOf([...base, ...events]).targets.values()];
    t.equal(stateOf(target!), state);
    const lines = linesOf(<TargetsView targets={[target!]} selected={name} {...SIZES[0]!} now={NOW} />, SIZES[0]!);
    t.match(lines.join("\n"), shown);
    t.match(sentenceOf(target!), new RegExp(`^${name}: running`), "and a screen reader hears a sentence");
  }
});

t.test("the selected one of two hundred targets is shown, with its place", async (t) => {
  const names = Array.from({ length: 200 }, (_, index) => `plugin:p-${index}`);
  const model = modelOf([started(names)]);
  const lines = linesOf(
    <TargetsView targets={[...model.targets.values()]} selected="plugin:p-150" {...SIZES[0]!} now={NOW} />,
    SIZES[0]!,
  );
  t.match(lines.join("\n"), /› plugin:p-150/);
  t.match(lines[0], /\d+–\d+ of 200/);
});
