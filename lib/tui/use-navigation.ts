import { useInput, usePaste } from "ink";
import { useRef, useState } from "react";
import { keyPresses } from "./key-presses.ts";
import { type Effect, FIRST_VIEW, type Navigation, pasted, press, type Shown } from "./navigation.ts";

interface Screen {
  /** Returns the facts about the screen that a key press at a place depends on. */
  shownAt: (nav: Navigation) => Omit<Shown, "targets">;
  onEffect: (effect: Effect) => void;
}

/**
 * Returns the position of a person, moved by keys. Keys that arrive faster than redraws each start from the previous
 * one's position. Pasted text is not a key: it goes into the search, and nowhere else.
 *
 * @param targets names of all targets, in the order of the list at a position
 */
export function useNavigation(
  first: Partial<Navigation>,
  targets: (nav: Navigation) => readonly string[],
  { shownAt, onEffect }: Screen,
): Navigation {
  const place = useRef<Navigation>({ ...FIRST_VIEW, ...first });
  const [, draw] = useState(0);
  const listed = targets(place.current);
  const known = place.current.selected !== undefined && listed.includes(place.current.selected);
  if (!known) place.current = { ...place.current, selected: listed[0] };
  useInput((text, name) => {
    for (const { input, key } of keyPresses(text, name)) {
      const shown = { ...shownAt(place.current), targets: targets(place.current) };
      const { nav, effect } = press(place.current, input, key, shown);
      place.current = nav;
      if (effect !== undefined) onEffect(effect);
    }
    draw((pictures) => pictures + 1);
  });
  usePaste((text) => {
    place.current = pasted(place.current, text);
    draw((pictures) => pictures + 1);
  });
  return place.current;
}
