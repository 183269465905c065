import * as z from "zod";
import { later } from "./later.ts";

/** Builds the schema of one page of a list. `next` is the cursor of the following page; null on the last. */
export const page = <T extends z.ZodType>(item: T) =>
  later(() => z.object({ items: z.array(item), next: z.string().nullable() }));

/** Query of a list: `cursor` is `next` of the previous page. */
export const pageQuery = later(() =>
  z.object({
    limit: z.coerce.number().int().min(1).max(200).default(50),
    cursor: z.string().max(300).default(""),
  }),
);
