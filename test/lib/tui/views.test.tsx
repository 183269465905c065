import { stripVTControlCharacters } from "node:util";
import { Box, renderToString } from "ink";
import type { ReactNode } from "react";
import t from "tap";
import type { WatchEvent } from "../../../lib/agent/watch/events.ts";
import { stateOf } from "../../../lib/agent/watch/target-state.ts";
import { DeploymentView } from "../../../lib/tui/deployment-view.tsx";
import { FleetModel } from "../../../lib/tui/fleet-model.ts";
import { FleetView } from "../../../lib/tui/fleet-view.tsx";
import { Footer, Header, Help } from "../../../lib/tui/frame.tsx";
import { EventsView, HistoryView } from "../../../lib/tui/history-view.tsx";
import { LogModel } from "../../../lib/tui/log-feed.ts";
import { LogView } from "../../../lib/tui/log-view.tsx";
import { FIRST_VIEW } from "../../../lib/tui/navigation.ts";
import { Pictures } from "../../../lib/tui/pictures.ts";
import { RolloutView } from "../../../lib/tui/rollouts/view.tsx";
import { sentenceOf } from "../../../lib/tui/spoken-dashboard.tsx";
import { TargetsView } from "../../../lib/tui/targets-view.tsx";
import { widthOf } from "../../../lib/tui/text.ts";
import { WatchModel } from "../../../lib/tui/watch-model.ts";

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
    at: "2026-01-01T00:00:00Z",
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

t.test("a warning is read in full beside the deployment, and the cause of a failure on a narrow screen", (t) => {
  const size = SIZES[0]!;
  const message = `The plan has no start or restart step, so its supervisor goes on with what it runs ${"now ".repeat(9)}.`;
  const model = modelOf([...deploying, { event: "warning", target: "plugin:tide-table", message }]);
  const shown = linesOf(
    <DeploymentView target={model.targets.get("plugin:tide-table")} {...size} scroll={0} now={NOW} />,
    size,
  );
  t.match(shown.map((line) => line.trim()).join(" "), message.trim());
  const fleet = new FleetModel();
  fleet.apply(
    ["pier-1", "pier-2"].map((host_id) => ({
      ...{ host_id, version: "1.1.0", status: "rolled_back" as const, completed_at: null },
      error_message: "no tides today (the runtime could not reload)",
    })),
  );
  fleet.complete = true;
  const query = { search: "", filter: "all" as const, latest: "1.1.0" };
  const rows = linesOf(
    <FleetView fleet={fleet} query={query} searching={false} {...size} scroll={0} now={NOW} />,
    size,
  );
  t.match(
    rows.filter((line) => line.includes("pier-")),
    [/no tides today/, /no tides today/],
  );
  t.end();
});

t.test("every view keeps within its rectangle, on small and large screens, whatever the texts are", async (t) => {
  const model = modelOf([
    ...deploying,
    { event: "warning", target: "plugin:tide-table", message: HOSTILE },
    { event: "output", target: "plugin:tide-table", source: "provision", line: HOSTILE.repeat(20) },
    {
      event: "check.failed",
      at: "2026-11-24T12:00:00Z",
      target: "plugin:berth-board",
      code: "hub_unavailable",
      message: HOSTILE,
      failures: 3,
    },
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
  fleet.adoption = { days: [{ day: "2026-11-20", versions: [{ version: HOSTILE, hosts: 9000 }], failing: 12345678 }] };
  const log = new LogModel();
  for (let line = 0; line < 50; line++) log.push(HOSTILE, HOSTILE.repeat(line));
  log.note = HOSTILE.repeat(5);
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
      log: <LogView title={HOSTILE} log={log} place={{ at: 3 }} {...size} />,
      help: <Help watching acting {...size} />,
      header: <Header title="Sealift watch" facts={[["  2 targets"]]} width={size.width} now={NOW} />,
      footer: <Footer nav={FIRST_VIEW} watching acting width={size.width} />,
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
    at: "2026-01-01T00:00:00Z",
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
      [
        {
          event: "check.failed",
          at: "2026-11-24T12:00:00Z",
          target: name,
          code: "timed_out",
          message: "silent",
          failures: 1,
        },
      ],
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

t.test("what is asked shows its answer, the version and the name on a narrow screen", async (t) => {
  const subject = { title: `plugin:${"long-".repeat(20)}`, running: "1.4.0", latest: "1.5.0", previous: "1.3.0" };
  for (const [confirming, question] of [
    ["rollback", /^ y yes, other keys no {2}Go back from 1\.4\.0 to 1\.3\.0 with plugin:long-.*…$/],
    ["redeploy", /^ y yes, other keys no {2}Redeploy 1\.5\.0 of plugin:long-.*…$/],
    ["quit", /^ y yes, other keys no {2}A deployment is under way and will be undone\. Quit\?/],
  ] as const) {
    const nav = { ...FIRST_VIEW, confirming };
    const [line] = linesOf(<Footer nav={nav} subject={subject} watching acting width={80} />, { width: 80, height: 1 });
    t.match(line, question);
    t.ok(widthOf(line!) <= 80);
  }
});

t.test("a log is shown in full, from its end, and stays where a person looks while more is written", async (t) => {
  const size = { width: 80, height: 6 };
  const log = new LogModel();
  const picture = (scroll: number): string =>
    linesOf(<LogView title="a" log={log} place={{ at: scroll }} {...size} />, size).join("\n");
  t.match(picture(0), /Nothing was written yet/);
  for (let line = 1; line <= 20; line++) log.push(null, `    at line ${line}`);
  t.match(picture(0), /16–20 of 20[\s\S]* {4}at line 16\n[\s\S]* {4}at line 20/);
  t.match(picture(5), /11–15 of 20, held here[\s\S]*at line 15/);
  const search = (find: string): string =>
    linesOf(<LogView title="a" log={log} place={{ at: 0, find, finding: true }} {...size} />, size).join("\n");
  t.match(search("LINE 7"), /\/LINE 7▏[\s\S]*at line 7\n/, "a search leaves the lines that have it, in any case");
  t.notMatch(search("line 7"), /at line 8/);
  t.match(search("nowhere"), /No line has “nowhere” in it/);
  log.push("b", "x".repeat(150));
  t.match(picture(5), /at line 15/);
  t.match(picture(0), /b \| x+\n +x+/);
  log.note = "The log has ended.";
  log.readAgain();
  t.match(picture(0), /b \| x+[\s\S]*The log has ended\./, "what was read stays until there is something new");
  log.push(null, "again");
  t.notMatch(picture(0), /xxx/);
  for (let line = 0; line < 5000; line++) log.push(null, "more");
  t.ok(log.shown(false).length <= 1000);
});

t.test("a rollout is shown with its lines, whatever they hold", (t) => {
  const sum =
    "halted: 2.0.0 failed on 1 host, with 1 in open waves; 1 of 3 waves open, 0 of 3 hosts run 2.0.0, 1 failing";
  const lines = () => ["plugin:tide 1.0.0 → 2.0.0  rol_1", sum, "● 10% ████ 1/1", "✗ host-1: \u001b[31mport taken"];
  const shown = renderToString(
    <RolloutView
      lines={lines}
      standing={() => ({ state: "running", waiting: "approval" })}
      question={(action) => `${action}?`}
      outcome={() => "It goes on."}
      act={() => undefined}
      pictures={new Pictures()}
      quit={() => undefined}
    />,
  );
  t.match(stripVTControlCharacters(shown), /Sealift rollout.*1\.0\.0 → 2\.0\.0.*✗ host-1: port taken/s);
  t.match(stripVTControlCharacters(shown), /halted: .*0 of\n {3}3 hosts run 2\.0\.0, 1 failing/, "nothing is cut");
  t.match(stripVTControlCharacters(shown), /It goes on\.\s+a approve {2}p pause {2}x abort {2}\? help {2}q quit/);
  t.end();
});

t.test("a fleet shows its last days as a row of columns for each version, where the screen has room", (t) => {
  const fleet = new FleetModel();
  const at = { status: "success" as const, completed_at: null };
  fleet.apply(["a", "b", "c"].map((host_id) => ({ host_id, version: "1.1.0", ...at })));
  fleet.apply([{ host_id: "d", version: "1.1.0", running_version: "1.0.0", ...at, status: "failed" }]);
  fleet.complete = true;
  const query = { search: "", filter: "all", latest: "1.1.0" } as const;
  const shown = (width: number, height: number) => {
    const view = (
      <FleetView fleet={fleet} query={query} searching={false} width={width} height={height} scroll={0} now={NOW} />
    );
    return linesOf(view, { width, height });
  };
  const hosts = (lines: string[]) => lines.filter((line) => /^ {2}[a-d] /.test(line)).length;

  t.match(shown(80, 16)[1], /^ {2}1\.1\.0 +█+/, "bars, until the hub has told the days");
  const on = (old: number, fresh: number, gone: number) =>
    [
      { version: "1.0.0", hosts: old },
      { version: "1.1.0", hosts: fresh },
      { version: "0.9.0", hosts: gone },
    ].filter(({ hosts }) => hosts > 0);
  fleet.adoption = {
    days: [
      { day: "2026-11-17", versions: on(2, 0, 2), failing: 0 },
      { day: "2026-11-18", versions: on(4, 0, 0), failing: 0 },
      { day: "2026-11-19", versions: on(3, 1, 0), failing: 3 },
      { day: "2026-11-20", versions: on(1, 3, 0), failing: 1 },
    ],
  };
  const rows = (lines: string[]) => lines.slice(1, 6).map((line) => line.trimEnd());
  const before = " ".repeat(26);
  t.strictSame(rows(shown(80, 16)), [
    `  1.1.0              ${before}  ▂▆  75 %        3`,
    `  1.0.0              ${before}▄█▆▂  25 %        1  1 failing`,
    `  0.9.0              ${before}▄      0 %        0`,
    `  failed on a day    ${before}  █▃ at most 3`,
    `  last 4 days        ${before.slice(1)}11-20`,
  ]);
  t.match(rows(shown(200, 40))[0], /^ {2}1\.1\.0 +█+.* {30}▂▆ {2}75 %/, "bars beside it on a wide screen");
  t.match(shown(79, 16)[1], /^ {2}1\.1\.0 +█+/, "bars alone on a narrow one");
  t.match(shown(80, 13)[1], /^ {2}1\.1\.0 +█+/, "and on a low one");
  t.equal(hosts(shown(80, 16)), 4);

  fleet.adoption = {
    days: Array.from({ length: 30 }, (_, day) => ({
      day: `2026-11-${String(day + 1).padStart(2, "0")}`,
      versions: on(1, 3, 0),
      failing: 0,
    })),
  };
  t.equal(
    rows(shown(80, 16))[2],
    `  last 30 days       11-01 ${"─".repeat(18)} 11-30`,
    "no line of failures without one",
  );
  t.end();
});
