/**
 * Names that people take for each other: `tide-tab1e` for `tide-table`. The idea is the skeleton of Unicode's TR39:
 * every letter becomes the one that stands for all that look like it, and names are alike if their skeletons are.
 * Slugs are of ASCII alone, so a short table is enough.
 */

/** Rules for a new slug that looks like another owner's: tell it, or refuse it. */
export const NAME_RULES = ["warn", "strict"] as const;
export type NameRule = (typeof NAME_RULES)[number];

/** Most look-alikes of a name that are told. */
export const MAX_LOOK_ALIKES = 10;

/**
 * Characters of a slug, with what they become in its skeleton; others stay. Databases index skeletons by this table: a
 * change of it needs a migration.
 */
export const SKELETON: readonly (readonly [from: string, to: string])[] = [
  ["1", "l"],
  ["i", "l"],
  ["0", "o"],
  ["5", "s"],
  ["2", "z"],
  ["m", "rn"],
  ["w", "vv"],
  ["-", ""],
  ["_", ""],
  [".", ""],
];

/** Returns the skeleton of a slug: the same for slugs that look alike. */
export const skeletonOf = (slug: string): string =>
  SKELETON.reduce((text, [from, to]) => text.replaceAll(from, to), slug);
