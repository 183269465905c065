import { Box, useStdout, useWindowSize } from "ink";
import { type ReactNode, useSyncExternalStore } from "react";
import { countStates, targetsText } from "../agent/watch/target-state.ts";
import { counted } from "../support/counted.ts";
import { deploymentRows, DeploymentView } from "./deployment-view.tsx";
import { type DetailSubject, detailText } from "./detail-view.tsx";
import { type FollowedFleet, useFleet } from "./fleet-feed.ts";
import type { FleetModel, FleetQuery } from "./fleet-model.ts";
import { FleetView, hostRowsOf } from "./fleet-view.tsx";
import { Footer, Header, Tabs, tabTitle, TooSmall } from "./frame.tsx";
import { EventsView, HistoryView } from "./history-view.tsx";
import { dashboardLayout, type PaneSize } from "./layout.ts";
import { type LinePart, Title } from "./line.tsx";
import { type LogSource, useLog } from "./log-feed.ts";
import type { Navigation, Tab, TargetAction } from "./navigation.ts";
import { overlayRows, type OverlaySubject, OverlayView } from "./overlay.tsx";
import { TargetsView } from "./targets-view.tsx";
import { copying } from "./text.ts";
import { useClock } from "./use-clock.ts";
import { useNavigation } from "./use-navigation.ts";
import { type DashboardStore, orderTargets, type TargetView, type WatchModel } from "./watch-model.ts";

export interface WatchDashboardProps {
  store: DashboardStore;
  /** Source of each target's fleet, by the target's name. */
  fleets: ReadonlyMap<string, FollowedFleet>;
  /** Log of each target, by the target's name. */
  logs: ReadonlyMap<string, LogSource>;
  act: (target: string, action: TargetAction) => void;
  /** Whether keys act on targets, not only look at them. */
  acting: boolean;
  quit: () => void;
}

/** Dashboard of the watch: targets above, and for the selected one its deployment, fleet, history and events. */
export function WatchDashboard({ store, fleets, logs, act, acting, quit }: WatchDashboardProps): ReactNode {
  useSyncExternalStore(store.subscribe, store.revision);
  const now = useClock();
  const size = useWindowSize();
  const { stdout } = useStdout();
  const { model } = store;
  const keys = { watching: true, acting };
  const count = model.targets.size;
  const orderedAt = ({ order }: Navigation) => orderTargets([...model.targets.values()], order);
  const nav = useNavigation({}, (at) => orderedAt(at).map(({ name }) => name), {
    shownAt,
    onEffect(effect) {
      if ("quit" in effect) quit();
      else if ("copy" in effect) stdout.write(copying(detailText(subjectAt(nav))));
      else act(effect.target, effect.act);
    },
  });
  const targets = orderedAt(nav);
  const { selected } = nav;
  const target = selected === undefined ? undefined : model.targets.get(selected);
  const layout = dashboardLayout(size.columns, size.rows, count, nav.tab);
  const source = selected === undefined ? undefined : fleets.get(selected);
  const fleet = useFleet(selected, source, layout.views.fleet !== undefined, store.changed);
  const query = queryOf(nav, target);
  const log = useLog(
    selected,
    selected === undefined ? undefined : logs.get(selected),
    nav.overlay?.kind === "log",
    store.changed,
  );

  function shownAt(at: Navigation) {
    const here = at.selected === undefined ? undefined : model.targets.get(at.selected);
    const { views, width, height } = dashboardLayout(size.columns, size.rows, count, at.tab);
    const rows: Record<Tab, () => number> = {
      deployment: () => deploymentRows(here, width, now).length,
      fleet: () => fleet?.rows(queryOf(at, here)).length ?? 0,
      history: () => model.history.length,
      events: () => model.events.length,
    };
    return {
      rows: rows[at.tab](),
      page: pageOf(at.tab, views[at.tab], fleet),
      overlay:
        at.overlay === undefined
          ? { rows: 0, page: 1 }
          : overlayRows({ overlay: at.overlay, subject: overlaid(at), width, height: height - 2 }),
      deploying: model.deploying.length > 0,
      ...keys,
      paused: here?.paused ?? false,
    };
  }

  function subjectAt(at: Navigation): DetailSubject {
    const here = at.selected === undefined ? undefined : model.targets.get(at.selected);
    return { target: here, tab: at.tab, model, hosts: fleet?.rows(queryOf(at, here)) ?? [], now };
  }

  const overlaid = (at: Navigation): OverlaySubject => ({ detail: subjectAt(at), log, keys });

  if (layout.kind === "too small") return <TooSmall {...size} />;
  const { width, height } = layout;
  const titleOf = (name: string): string => model.targets.get(name)?.title ?? name;
  const view = (tab: Tab): ReactNode => {
    const place = layout.views[tab];
    if (place === undefined) return null;
    const inner = { width: place.width, height: place.height - 1, scroll: nav.scroll[tab], now };
    return (
      <Box key={tab} flexDirection="column" width={place.width} height={place.height} overflow="hidden">
        {layout.kind === "panes" && (
          <Title text={tabTitle(tab)} note={noteOf(tab, target)} width={place.width} strong={tab === nav.tab} />
        )}
        {layout.kind === "tabs" && <Tabs chosen={tab} note="" width={place.width} />}
        {tab === "deployment" && <DeploymentView target={target} {...inner} />}
        {tab === "fleet" && <FleetView fleet={fleet} query={query} searching={nav.searching} {...inner} />}
        {tab === "history" && <HistoryView rows={model.history} titleOf={titleOf} {...inner} />}
        {tab === "events" && <EventsView rows={model.events} titleOf={titleOf} {...inner} />}
      </Box>
    );
  };
  return (
    <Box flexDirection="column" width={width} height={height} overflow="hidden">
      <Header title="Sealift watch" facts={factsOf(model)} width={width} now={now} />
      {nav.overlay !== undefined ? (
        <OverlayView overlay={nav.overlay} subject={overlaid(nav)} width={width} height={height - 2} />
      ) : (
        <>
          <Box flexDirection="column" height={layout.targets.height}>
            <TargetsView
              targets={targets}
              selected={selected}
              order={nav.order === "listed" ? "" : `by ${nav.order}`}
              {...layout.targets}
              now={now}
            />
          </Box>
          {layout.kind === "tabs" ? (
            view(nav.tab)
          ) : (
            <Box columnGap={1}>
              <Box flexDirection="column">{[view("deployment"), view("history")]}</Box>
              <Box flexDirection="column">{[view("fleet"), view("events")]}</Box>
            </Box>
          )}
        </>
      )}
      <Footer nav={nav} {...keys} width={width} {...(target !== undefined && { subject: target })} />
    </Box>
  );
}

const queryOf = ({ search, filter, hosts }: Navigation, target: TargetView | undefined): FleetQuery => ({
  ...{ search, filter, order: hosts },
  latest: target?.latest ?? null,
});

function pageOf(tab: Tab, place: PaneSize | undefined, fleet: FleetModel | undefined): number {
  const { width, height: lines } = place ?? { width: 0, height: 2 };
  const height = lines - 1;
  if (tab === "fleet") return hostRowsOf(fleet, { width, height });
  // A line of column names.
  return tab === "history" ? height - 1 : height;
}

const noteOf = (tab: Tab, target: TargetView | undefined): string =>
  (tab === "deployment" || tab === "fleet") && target !== undefined ? target.title : "";

function factsOf(model: WatchModel): LinePart[] {
  const counts = countStates(model.targets.values());
  const looks = [
    ["deploying", "busy"],
    ["held", "attention"],
    ["failing", "bad"],
  ] as const;
  const facts: LinePart[] = [[`  ${targetsText(model.targets.size)}`]];
  for (const [state, look] of looks) if (counts.has(state)) facts.push([` · ${counts.get(state)} ${state}`, look]);
  const silent = [...model.hints.values()].filter((isConnected) => !isConnected).length;
  if (silent > 0) facts.push([` · no hints from ${counted(silent, "hub")}`, "quiet"]);
  else if (model.hints.size > 0) facts.push([" · hints", "quiet"]);
  if (model.stopping) facts.push([" · stopping", "attention"]);
  return facts;
}
