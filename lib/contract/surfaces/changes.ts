import * as z from "zod";
import { later } from "../later.ts";

/** Hints of changes on the wire (docs/contract/hints.md). */

/** Most targets of one stream or poll: their names must fit into a request line. */
export const MAX_HINTED_TARGETS = 200;

/** Target as people write it. */
const targetText = later(() =>
  z.string().regex(/^(?:project:[A-Za-z0-9][A-Za-z0-9_.-]{0,127}|(?:plugin|service):[a-z0-9][a-z0-9_.-]{0,127})$/, {
    message: "must be plugin:SLUG, service:SLUG or project:ID",
  }),
);

/** Targets of a stream in its query, separated by commas. */
export const hintedTargets = later(() =>
  z
    .string()
    .max(32_768)
    .transform((text) => [...new Set(text.split(","))])
    .pipe(z.array(targetText).min(1).max(MAX_HINTED_TARGETS)),
);

/** Hint: these targets may answer "latest" differently now. */
export const changeHint = later(() =>
  z.object({
    targets: z.array(z.string().max(200)).max(MAX_HINTED_TARGETS),
    /** Milliseconds over which hosts that receive it at the same moment spread their requests. */
    spread_ms: z.number().nonnegative(),
  }),
);
export type ChangeHint = z.infer<typeof changeHint>;

/** Seconds between two comments of a stream: those that a client may ask for, and those without a word. */
export const BEATS = { least: 15, most: 55, usual: 15 } as const;

/** Reads the seconds of a beat as a header says them; undefined for others than {@link BEATS} has. */
export function beatIn(given: string | string[] | undefined): number | undefined {
  const seconds = typeof given === "string" && /^\d{1,3}$/.test(given) ? Number(given) : 0;
  return seconds >= BEATS.least && seconds <= BEATS.most ? seconds : undefined;
}

/** `event` of a hint; streams may have others in future. */
export const HINT_EVENT = "changed";

export const pollRequest = later(() =>
  z.strictObject({
    targets: z
      .array(
        z.strictObject({
          target: targetText,
          /** ETag of the caller's last answer to `latest`; null without one. */
          etag: z.string().max(1024).nullable(),
        }),
      )
      .min(1)
      .max(MAX_HINTED_TARGETS),
  }),
);

export const marksAnswer = later(() =>
  z.object({
    /** Visible targets, in the order of the request. */
    targets: z.array(z.object({ target: z.string(), mark: z.string() })),
  }),
);
export type MarksAnswer = z.infer<typeof marksAnswer>;

export const pollAnswer = later(() =>
  z.object({
    /** Visible targets, in the order of the request. */
    targets: z.array(z.object({ target: z.string(), changed: z.boolean() })),
  }),
);
