import { Box, useStdout, useWindowSize } from "ink";
import { type ReactNode, useSyncExternalStore } from "react";
import { NOTHING } from "../contract/surfaces/host-record.ts";
import { counted } from "../support/counted.ts";
import { type DetailSubject, detailText } from "./detail-view.tsx";
import { type FollowedFleet, useFleet } from "./fleet-feed.ts";
import type { FleetQuery } from "./fleet-model.ts";
import { FleetView, hostRowsOf } from "./fleet-view.tsx";
import { Footer, Header, TooSmall } from "./frame.tsx";
import { SMALLEST, windowStart } from "./layout.ts";
import { Line, Title } from "./line.tsx";
import type { Navigation } from "./navigation.ts";
import { overlayRows, type OverlaySubject, OverlayView } from "./overlay.tsx";
import type { Pictures } from "./pictures.ts";
import { copying } from "./text.ts";
import { useClock } from "./use-clock.ts";
import { useNavigation } from "./use-navigation.ts";

/** Kinds of keys: a fleet alone has no targets to act on. */
const KEYS_OF_FLEET = { watching: false, acting: false };

export interface FleetDashboardProps {
  /** Fleets by name, in the requested order. */
  fleets: ReadonlyMap<string, FollowedFleet>;
  /** Silence after which a host is counted separately, in milliseconds. */
  staleMs: number;
  pictures: Pictures;
  quit: () => void;
}

/** Rows of the list of fleets, when there is more than one. */
const LISTED = 6;

/** Shows live which hosts run what, one fleet at a time. */
export function FleetDashboard({ fleets, staleMs, pictures, quit }: FleetDashboardProps): ReactNode {
  useSyncExternalStore(pictures.subscribe, pictures.revision);
  const now = useClock();
  const size = useWindowSize();
  const names = [...fleets.keys()];
  const listed = names.length > 1 ? Math.min(LISTED, names.length) : 0;
  const { columns: width } = size;
  const height = size.rows - 1;
  const inner = height - 3 - listed;
  const { stdout } = useStdout();
  const nav = useNavigation({ tab: "fleet" }, () => names, {
    shownAt,
    onEffect(effect) {
      if ("quit" in effect) quit();
      else if ("copy" in effect) stdout.write(copying(detailText(subjectAt(nav))));
    },
  });
  const selected = nav.selected!;
  const fleet = useFleet(selected, fleets.get(selected), true, pictures.changed, staleMs);
  const query = queryOf(nav);

  // Nobody states the latest version here: the one on most hosts stands in for it.
  function queryOf({ search, filter, hosts: order }: Navigation): FleetQuery {
    return {
      search,
      filter,
      order,
      latest: fleet?.versions().find(({ version }) => version !== NOTHING)?.version ?? null,
    };
  }

  function shownAt(at: Navigation) {
    return {
      rows: fleet?.rows(queryOf(at)).length ?? 0,
      page: hostRowsOf(fleet, { width, height: inner }),
      overlay:
        at.overlay === undefined
          ? { rows: 0, page: 1 }
          : overlayRows({ overlay: at.overlay, subject: overlaid(at), width, height: height - 2 }),
      deploying: false,
      ...KEYS_OF_FLEET,
      paused: false,
    };
  }

  function subjectAt(at: Navigation): DetailSubject {
    const model = { history: [], events: [] };
    return { target: undefined, tab: "fleet", model, hosts: fleet?.rows(queryOf(at)) ?? [], now };
  }

  const overlaid = (at: Navigation): OverlaySubject => ({ detail: subjectAt(at), keys: KEYS_OF_FLEET });

  if (size.columns < SMALLEST.columns || size.rows < SMALLEST.rows) return <TooSmall {...size} />;
  const start = windowStart(names.indexOf(selected), listed, names.length);
  return (
    <Box flexDirection="column" width={width} height={height} overflow="hidden">
      <Header title="Sealift fleet" facts={[[`  ${counted(names.length, "fleet")}`]]} width={width} now={now} />
      {nav.overlay !== undefined ? (
        <OverlayView overlay={nav.overlay} subject={overlaid(nav)} width={width} height={height - 2} />
      ) : (
        <>
          {names.slice(start, start + listed).map((name) => (
            <Line
              key={name}
              width={width}
              parts={[[`${name === selected ? "› " : "  "}${name}`]]}
              inverse={name === selected}
            />
          ))}
          <Title text={selected} width={width} strong />
          <Box flexDirection="column" height={inner} overflow="hidden">
            <FleetView
              fleet={fleet}
              query={query}
              searching={nav.searching}
              width={width}
              height={inner}
              scroll={nav.scroll.fleet}
              now={now}
            />
          </Box>
        </>
      )}
      <Footer nav={nav} {...KEYS_OF_FLEET} width={width} />
    </Box>
  );
}
