import * as z from "zod";
import { later } from "../later.ts";
import { CPU_FORM, MEMORY, MEMORY_FORM, TASKS_FORM } from "./limit-forms.ts";

/**
 * Limits of an application: in `applications.yaml` what it may have at most, in `app.yaml` what it asks for
 * (docs/contract/application.md#limits).
 */
export const appLimits = later(() =>
  z.strictObject({
    /** Memory, without swap: `512M`, `2G`. */
    memory: z.string().regex(MEMORY, MEMORY_FORM).optional(),
    /** Processors: 1.5 is one and a half. */
    cpu: z.number({ error: CPU_FORM }).min(0.01, CPU_FORM).max(1024, CPU_FORM).multipleOf(0.01, CPU_FORM).optional(),
    /** Processes and threads. */
    tasks: z.int({ error: TASKS_FORM }).min(1, TASKS_FORM).max(1_000_000, TASKS_FORM).optional(),
  }),
);

/** Use of the machine by the processes of an application. */
export const usage = later(() =>
  z.object({
    memory_bytes: z.number().nonnegative(),
    /** Processor time since its start, in seconds. */
    cpu_seconds: z.number().nonnegative(),
    tasks: z.int().nonnegative(),
  }),
);
