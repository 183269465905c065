import * as z from "zod";
import { later } from "../later.ts";

/** Days in an answer, including today. */
export const ADOPTION_DAYS = 30;

const count = later(() => z.int().nonnegative());

export const fleetAdoption = later(() =>
  z.object({
    days: z
      .array(
        z.object({
          day: z.iso.date().describe("In UTC"),
          versions: z
            .array(z.object({ version: z.string(), hosts: count }))
            .describe("Hosts by the version of their last deployment until the end of the day; most first"),
          failing: count.describe("Hosts of which a deployment failed on that day"),
        }),
      )
      .describe(`The last ${ADOPTION_DAYS} days, oldest first; fewer where a fleet has more reports than are read`),
  }),
);
export type FleetAdoption = z.infer<typeof fleetAdoption>;
