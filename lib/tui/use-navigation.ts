import { useInput } from "ink";
import { useRef, useState } from "react";
import { type Effect, FIRST_VIEW, type Navigation, press, type Shown } from "./navigation.ts";

/**
 * Returns the place of a person, moved by the keys. Keys that come faster than pictures each start where the one before
 * has led.
 *
 * @param shownAt what a key press needs to know of what is shown at a place
 */
export function useNavigation(
  first: Partial<Navigation>,
  targets: readonly string[],
  shownAt: (nav: Navigation) => Omit<Shown, "targets"> & { paused: boolean },
  onEffect: (effect: Effect) => void,
): Navigation {
  const place = useRef<Navigation>({ ...FIRST_VIEW, ...first });
  const [, draw] = useState(0);
  const known = place.current.selected !== undefined && targets.includes(place.current.selected);
  if (!known) place.current = { ...place.current, selected: targets[0] };
  useInput((input, key) => {
    const { nav, effect } = press(place.current, input, key, { ...shownAt(place.current), targets });
    place.current = nav;
    draw((pictures) => pictures + 1);
    if (effect !== undefined) onEffect(effect);
  });
  return place.current;
}
