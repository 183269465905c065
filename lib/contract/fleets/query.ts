import * as z from "zod";
import { slug } from "../identifiers.ts";
import { later } from "../later.ts";
import { HOST_SETTINGS } from "../settings/host-states.ts";
import { hostState } from "../surfaces/reports.ts";
import { rootVersion } from "../trust/root.ts";

/** Header with the cursor for the next `?since=`. */
export const CURSOR_HEADER = "X-Cursor";

/** Header of an answer with every host of the view, although only changes were requested: all others are gone. */
export const WHOLE_HEADER = "X-Whole-View";

/** Header of one page of a list: the value of `after` for the next one. */
export const NEXT_HEADER = "X-Next";

/** Description of the routes that answer with a fleet. */
export const FLEET_ROUTE =
  `Streamed in host-id order. ${CURSOR_HEADER} in the answer is the value for the next \`since\`. With a parameter of ` +
  `a list, one screen of it: by state (failed, held, ok, silent), then by host id; ${NEXT_HEADER} is the value for the ` +
  "next `after`, and missing at the end.";

/** Most hosts of one page, and the default limit of a list. */
export const MOST_HOSTS = 500;

const filterText = later(() => z.string().min(1).max(255).optional());

export const fleetQuery = later(() =>
  z.object({
    since: z
      .string()
      .max(32)
      .optional()
      .describe(`Gives only hosts that changed since an earlier answer; its value is that answer's ${CURSOR_HEADER}.`),
    limit: z.coerce
      .number()
      .int()
      .min(1)
      .max(MOST_HOSTS)
      .optional()
      .describe("Gives one screen of a list by state, then by host id. So do the parameters below."),
    after: z
      .string()
      .max(4096)
      .optional()
      .describe(`Begins behind an earlier screen; its value is that one's ${NEXT_HEADER}.`),
    state: hostState.optional().describe("Only hosts in this state"),
    version: filterText.describe("Only hosts that are shown with this version"),
    label: filterText.describe("Only hosts with this label: `name=value`, or a name"),
    root_below: z.coerce
      .number()
      .pipe(rootVersion)
      .optional()
      .describe("Only hosts that follow an older version of the trust root than this one, or none"),
    settings: z.enum(HOST_SETTINGS).optional().describe("Only hosts whose settings are in this state"),
    app: slug.optional().describe("Only hosts whose last report tells of this application"),
    text: filterText.describe("Only hosts whose id has this text in it, in any case"),
  }),
);
export type FleetQuery = z.output<typeof fleetQuery>;
