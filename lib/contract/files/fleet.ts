import * as z from "zod";
import { hostId, slug } from "../identifiers.ts";
import { LABEL_NAME, LABEL_VALUE } from "../labels.ts";
import { later } from "../later.ts";
import { MAX_SETTINGS_BYTES } from "../settings/limits.ts";
import { isReservedSetting } from "../settings/reserved-names.ts";
import { settingName } from "../settings/texts.ts";

/** Most entries of a fleet.yaml, and most hosts that one entry names. */
const MAX_ENTRIES = 1000;
const MAX_NAMED = 1000;
/** Most words of a command, and most characters of each. */
const MAX_WORDS = 64;
const MAX_WORD = 4096;

const word = later(() => z.string().max(MAX_WORD));

const source = later(() =>
  z.union(
    [
      z.string().max(MAX_SETTINGS_BYTES),
      z.null(),
      z.strictObject({
        /** File with the value; a relative path starts at the folder of fleet.yaml. */
        file: z.string().min(1).max(1024),
      }),
      z.strictObject({
        /** Variable of the operator's own environment with the value. */
        env: z.string().min(1).max(1024),
      }),
      z.strictObject({
        /** Program and its arguments; it prints the value. No shell reads them. */
        command: z.array(word).min(1).max(MAX_WORDS),
      }),
    ],
    "must be a text (in quotes if it looks like a number), null, or one of { file: … }, { env: … }, { command: […] }",
  ),
);
/** Place of a value: a text, null to take an earlier entry's value out, a file, a variable, or a command. */
export type ValueSource = z.infer<typeof source>;

const name = later(() =>
  settingName.refine(
    (text) => !isReservedSetting(text),
    "must not be a name that the host gives itself, or that steers Node or the loader",
  ),
);

const labelValue = later(() =>
  z.string().regex(LABEL_VALUE, "must be 1 to 63 letters, digits, _, . and -, in quotes for a number"),
);

const match = later(() =>
  z
    .object({
      /** Names of hosts. Only hosts count whose key is known to have the name. */
      hosts: z.array(hostId).min(1).max(MAX_NAMED).optional(),
    })
    .catchall(labelValue)
    .refine(
      (labels) => Object.keys(labels).every((label) => LABEL_NAME.test(label)),
      "must have names of labels: 1 to 63 of a-z, 0-9, _, . and -",
    ),
);
/** Hosts of an entry: those with all of the labels, and of the names. */
export type HostMatch = z.infer<typeof match>;

/** `fleet.yaml`: settings of all hosts of a project (docs/settings.md). */
export const fleetFile = later(() =>
  z.strictObject({
    /** Name or id of the project. */
    project: z.string().min(1).max(255),
    /** Entries, of which later ones win. */
    settings: z
      .array(
        z.strictObject({
          /** Hosts that get the values; all without it. */
          match: match.default({}),
          /** Values by application and name. */
          apps: z.record(slug, z.record(name, source)),
        }),
      )
      .min(1)
      .max(MAX_ENTRIES),
  }),
);
export type FleetFile = z.infer<typeof fleetFile>;
export type FleetEntry = FleetFile["settings"][number];
