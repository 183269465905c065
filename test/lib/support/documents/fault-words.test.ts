import t from "tap";
import * as z from "zod";
import { faultText, keysAt } from "../../../../lib/support/documents/fault-words.ts";
import { faultsOf } from "../../../../lib/support/documents/faults.ts";

const first = (schema: z.ZodType, value: unknown): string => faultText(schema.safeParse(value).error!.issues[0]!);

t.test("what a schema refuses is told in the words of this program", (t) => {
  const cases: [schema: z.ZodType, value: unknown, told: string][] = [
    [z.string(), undefined, "is missing (a text)"],
    [z.string(), 1, "must be a text, not a number"],
    [z.object({}), [], "must be a mapping, not a list"],
    [z.array(z.string()), {}, "must be a list, not a mapping"],
    [z.boolean(), "x", "must be true or false, not a text"],
    [z.int(), 1.5, "must be a whole number"],
    [z.literal("1"), "2", 'must be "1"'],
    [z.enum(["a", "b"]), "c", "must be one of a, b"],
    [z.strictObject({}), { a: 1, b: 2 }, 'unknown keys "a", "b"'],
    [z.string().min(1), "", "must not be empty"],
    [z.string().min(2), "a", "must have at least 2 characters"],
    [z.string().max(1), "ab", "must have at most 1 character"],
    [z.array(z.string()).length(2), ["a"], "must have exactly 2 items"],
    [z.number().min(3), 2, "must be 3 or more"],
    [z.number().positive(), 0, "must be more than 0"],
    [z.number().max(3), 4, "must be 3 or less"],
    [z.number().lt(3), 3, "must be less than 3"],
    [z.number().multipleOf(5), 3, "must be a multiple of 5"],
    [z.url(), "x", "must be a URL"],
    [z.iso.datetime(), "x", "must be a time such as 2026-01-31T09:00:00Z"],
    [z.string().regex(/^a/), "x", "is not of the form that it must have"],
    [z.string().refine(() => false), "x", "is not valid"],
    [z.string().regex(/^a/, "must begin with a"), "x", "must begin with a"],
    [
      z.record(z.string().regex(/^a/, "must begin with a"), z.string()),
      { b: "" },
      "is not a key that this may have: must begin with a",
    ],
    [z.map(z.string(), z.string()), new Map([["a", 1]]), "must be a text, not a number"],
    [z.union([z.string(), z.number()]), undefined, "is missing"],
    [
      z.union([z.string(), z.number()]),
      true,
      "must be a text, not true or false, or must be a number, not true or false",
    ],
    [z.union([z.int(), z.string().regex(/^\d/, "must begin with a digit")]), "x", "must begin with a digit"],
    [
      z.discriminatedUnion("a", [z.object({ a: z.literal("x") }), z.object({ a: z.literal("y") })]),
      { a: "q" },
      "must be one of x, y",
    ],
  ];
  for (const [schema, value, told] of cases) t.equal(first(schema, value), told);
  t.end();
});

t.test("the keys of a mapping are found through lists, records and alternatives", (t) => {
  const step = z.discriminatedUnion("action", [
    z.strictObject({ action: z.literal("put"), plugin: z.string() }),
    z.strictObject({ action: z.literal("run"), command: z.string() }),
  ]);
  const schema = z.strictObject({
    steps: z.array(step).default([]),
    by: z.record(z.string(), z.object({ port: z.int() })),
  });
  t.strictSame(keysAt(schema, []), ["steps", "by"]);
  t.strictSame(keysAt(schema, ["steps", 0]), ["action", "plugin", "action", "command"]);
  t.strictSame(keysAt(schema, ["by", "x"]), ["port"]);
  t.strictSame(keysAt(schema, ["nothing"]), []);
  const value = { steps: [{ id: "a", action: "put", plugn: "x" }], by: {} };
  t.match(faultsOf(schema.safeParse(value).error!, { value, schema }), [
    /^steps\[a\]\.plugin: is missing/,
    /^steps\[a\]: unknown keys "id", "plugn"; did you mean plugin\?$/,
  ]);
  t.end();
});
