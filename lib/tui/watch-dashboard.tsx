import { Box, useWindowSize } from "ink";
import { type ReactNode, useSyncExternalStore } from "react";
import type { WatchAction } from "../agent/watch/events.ts";
import type { FleetModel, FleetQuery } from "../models/fleet.ts";
import { countStates, targetsText, type TargetView, type WatchModel } from "../models/watch.ts";
import type { DashboardStore } from "./dashboard-store.ts";
import { deploymentRows, DeploymentView } from "./deployment-view.tsx";
import { FleetView, hostRowsOf } from "./fleet-view.tsx";
import { Footer, Header, Help, TooSmall } from "./frame.tsx";
import { EventsView, HistoryView } from "./history-view.tsx";
import { dashboardLayout, type Place } from "./layout.ts";
import { type Part, Title } from "./line.tsx";
import { type Navigation, type Tab, TABS } from "./navigation.ts";
import { TargetsView } from "./targets-view.tsx";
import { useClock } from "./use-clock.ts";
import { type FleetSource, useFleet } from "./use-fleet.ts";
import { useNavigation } from "./use-navigation.ts";

export interface WatchDashboardProps {
  store: DashboardStore;
  /** The source of each target's fleet, by the target's name. */
  fleets: ReadonlyMap<string, FleetSource>;
  act: (target: string, action: WatchAction) => void;
  quit: () => void;
}

const TITLES: Record<Tab, string> = { deployment: "Deployment", fleet: "Fleet", history: "History", events: "Events" };

/** The watch's dashboard: targets above, and of the selected one its deployment, fleet, history and events. */
export function WatchDashboard({ store, fleets, act, quit }: WatchDashboardProps): ReactNode {
  useSyncExternalStore(store.subscribe, store.revision);
  const now = useClock();
  const size = useWindowSize();
  const { model } = store;
  const targets = [...model.targets.values()];
  const names = targets.map(({ name }) => name);
  const nav = useNavigation({}, names, shownAt, (effect) => {
    if ("quit" in effect) quit();
    else act(effect.target, effect.act);
  });
  const { selected } = nav;
  const target = selected === undefined ? undefined : model.targets.get(selected);
  const layout = dashboardLayout(size.columns, size.rows, targets.length, nav.tab);
  const source = selected === undefined ? undefined : fleets.get(selected);
  const fleet = useFleet(selected, source, layout.views.fleet !== undefined, store.changed);
  const query = queryOf(nav, target);

  function shownAt(at: Navigation) {
    const here = at.selected === undefined ? undefined : model.targets.get(at.selected);
    const { views, width } = dashboardLayout(size.columns, size.rows, targets.length, at.tab);
    const rows: Record<Tab, () => number> = {
      deployment: () => deploymentRows(here, width, now).length,
      fleet: () => fleet?.rows(queryOf(at, here)).length ?? 0,
      history: () => model.history.length,
      events: () => model.events.length,
    };
    return {
      rows: rows[at.tab](),
      page: pageOf(at.tab, views[at.tab], fleet),
      deploying: model.deploying.length > 0,
      watching: true,
      paused: here?.paused ?? false,
    };
  }

  if (layout.kind === "too small") return <TooSmall {...size} />;
  const { width, height } = layout;
  const view = (tab: Tab): ReactNode => {
    const place = layout.views[tab];
    if (place === undefined) return null;
    const inner = { width: place.width, height: place.height - 1, scroll: nav.scroll[tab], now };
    return (
      <Box key={tab} flexDirection="column" width={place.width} height={place.height} overflow="hidden">
        {layout.kind === "panes" && (
          <Title
            text={`${TABS.indexOf(tab) + 1} ${TITLES[tab]}`}
            note={noteOf(tab, selected)}
            width={place.width}
            strong={tab === nav.tab}
          />
        )}
        {layout.kind === "tabs" && <Title text={tabTitle(tab)} note={otherTabs(tab)} width={place.width} strong />}
        {tab === "deployment" && <DeploymentView target={target} {...inner} />}
        {tab === "fleet" && <FleetView fleet={fleet} query={query} searching={nav.searching} {...inner} />}
        {tab === "history" && <HistoryView rows={model.history} {...inner} />}
        {tab === "events" && <EventsView rows={model.events} {...inner} />}
      </Box>
    );
  };
  return (
    <Box flexDirection="column" width={width} height={height} overflow="hidden">
      <Header title="Sealift watch" facts={factsOf(model)} width={width} now={now} />
      {nav.help ? (
        <Help watching width={width} height={height - 2} />
      ) : (
        <>
          <Box flexDirection="column" height={layout.targets.height}>
            <TargetsView targets={targets} selected={selected} {...layout.targets} now={now} />
          </Box>
          {layout.kind === "tabs" ? (
            view(nav.tab)
          ) : (
            <Box columnGap={1}>
              <Box flexDirection="column">{[view("deployment"), view("events")]}</Box>
              <Box flexDirection="column">{[view("fleet"), view("history")]}</Box>
            </Box>
          )}
        </>
      )}
      <Footer nav={nav} watching width={width} />
    </Box>
  );
}

const queryOf = ({ search, filter }: Navigation, target: TargetView | undefined): FleetQuery => ({
  search,
  filter,
  latest: target?.latest ?? null,
});

function pageOf(tab: Tab, place: Place | undefined, fleet: FleetModel | undefined): number {
  const height = (place?.height ?? 2) - 1;
  if (tab === "fleet") return hostRowsOf(fleet, height);
  // A line of column names.
  return tab === "history" ? height - 1 : height;
}

const tabTitle = (tab: Tab): string => `${TABS.indexOf(tab) + 1} ${TITLES[tab]}`;

const otherTabs = (tab: Tab): string =>
  TABS.filter((other) => other !== tab)
    .map(tabTitle)
    .join("  ");

const noteOf = (tab: Tab, selected: string | undefined): string =>
  (tab === "deployment" || tab === "fleet") && selected !== undefined ? selected : "";

function factsOf(model: WatchModel): Part[] {
  const counts = countStates(model);
  const looks = [
    ["deploying", "busy"],
    ["held", "attention"],
    ["failing", "bad"],
  ] as const;
  const facts: Part[] = [[`  ${targetsText(model)}`]];
  for (const [state, look] of looks) if (counts.has(state)) facts.push([` · ${counts.get(state)} ${state}`, look]);
  if (model.stopping) facts.push([" · stopping", "attention"]);
  return facts;
}
