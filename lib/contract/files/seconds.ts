import * as z from "zod";
import { later } from "../later.ts";

/** Whole seconds from 1 to a most, as a number or as "30s", "5m", "1h". */
export const secondsUpTo = (most: number) =>
  z
    .union([z.int(), z.string().regex(/^\d+[smh]?$/, 'must be seconds, or a text such as "30s" or "5m"')])
    .transform((value) => {
      if (typeof value === "number") return value;
      const unit = { s: 1, m: 60, h: 3600 }[value.at(-1) as "s" | "m" | "h"];
      return unit === undefined ? Number(value) : Number(value.slice(0, -1)) * unit;
    })
    .pipe(z.int().min(1).max(most));

/** Whole seconds from 1 to 600. */
export const seconds = later(() => secondsUpTo(600));
