import { Box, Text } from "ink";
import { type ReactNode, useSyncExternalStore } from "react";
import { stateOf } from "../agent/watch/target-state.ts";
import { counted } from "../support/counted.ts";
import { questionOf } from "./frame.tsx";
import type { Confirmed, Navigation } from "./navigation.ts";
import { useNavigation } from "./use-navigation.ts";
import type { WatchDashboardProps } from "./watch-dashboard.tsx";
import type { TargetView } from "./watch-model.ts";

/**
 * Dashboard in sentences, for screen readers: no bars, no columns, no clock; it changes only when something has
 * changed.
 */
export function SpokenDashboard({ store, act, acting, quit }: WatchDashboardProps): ReactNode {
  useSyncExternalStore(store.subscribe, store.revision);
  const { model } = store;
  const targets = [...model.targets.values()];
  const names = targets.map(({ name }) => name);
  const shownAt = ({ selected }: Navigation) => ({
    rows: 0,
    page: 1,
    deploying: model.deploying.length > 0,
    ...{ watching: true, acting },
    paused: model.targets.get(selected ?? "")?.paused ?? false,
  });
  const nav = useNavigation({}, () => names, {
    shownAt,
    onEffect(effect) {
      if ("quit" in effect) quit();
      else if ("act" in effect) act(effect.target, effect.act);
    },
  });
  const { selected } = nav;
  const last = model.events.at(-1);
  return (
    <Box flexDirection="column">
      <Text>{`Sealift watch, ${counted(targets.length, "target")}.`}</Text>
      {targets.map((each) => (
        <Text key={each.name}>{`${each.name === selected ? "Selected: " : ""}${sentenceOf(each)}`}</Text>
      ))}
      {last !== undefined && (
        <Text>{`Last event: ${sentenced([last.target, last.text].filter(Boolean).join(" "))}`}</Text>
      )}
      <Text>{question(nav.confirming, model.targets.get(selected ?? ""), acting)}</Text>
    </Box>
  );
}

const question = (confirming: Confirmed | undefined, target: TargetView | undefined, acting: boolean): string =>
  confirming === undefined
    ? `Keys: arrows select, ${acting ? "c checks, r redeploys, b goes back, t retries, p pauses, " : ""}q quits.`
    : `${questionOf(confirming, target)} Press y for yes, any other key for no.`;

/** Describes a target in one sentence. Progress is in tenths, so that a screen reader is not always speaking. */
export function sentenceOf(target: TargetView): string {
  const versions = `running ${target.running ?? "nothing"}, latest ${target.latest ?? "nothing"}`;
  const state = stateOf(target);
  const { deployment, held, error } = target;
  const what =
    state === "deploying"
      ? `deploying ${deployment!.version}, ${deployment!.activeStage}, ${Math.floor(deployment!.fraction * 10) * 10} percent`
      : state === "held"
        ? `held back: ${held!.reason}, ${held!.message}${target.paused ? " Paused" : ""}`
        : state === "failing"
          ? `failing: ${error!.message}`
          : state;
  const sick = target.unhealthy && `, unhealthy since ${target.unhealthy.since}: ${target.unhealthy.message}`;
  return sentenced(`${target.title}: ${versions}, ${what}${sick ?? ""}`);
}

/** Ends a text with one full stop. */
const sentenced = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`);
