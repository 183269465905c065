import * as z from "zod";

/** Schema without a value that meets it. */
const none = z.custom<never>(() => false, "holds an object in the place of a text or list");

/**
 * Parses what others wrote as `schema.safeParse` does, and never throws: zod compares the `length` of whatever has one,
 * and cannot compare an object whose `toString` is not a function.
 */
export function safelyParsed<T extends z.ZodType>(
  schema: T,
  value: unknown,
  context?: Parameters<T["safeParse"]>[1],
): z.ZodSafeParseResult<z.output<T>> {
  try {
    return schema.safeParse(value, context);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return none.safeParse(value);
  }
}
