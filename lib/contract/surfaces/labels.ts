import * as z from "zod";
import { LABEL_NAME, LABEL_VALUE, MAX_LABELS } from "../labels.ts";
import { later } from "../later.ts";

const labelName = later(() => z.string().regex(LABEL_NAME, "must be 1 to 63 of a-z, 0-9, _, . and -"));
const labelValue = later(() => z.string().regex(LABEL_VALUE, "must be 1 to 63 letters, digits, _, . and -"));

/** Labels of a host, by which rollouts select hosts (docs/contract/rollouts.md). */
export const labels = later(() =>
  z
    .record(labelName, labelValue)
    .refine((given) => Object.keys(given).length <= MAX_LABELS, `must be ${MAX_LABELS} labels at most`),
);
