// Holds: schemas that are built when they are used (lib/contract/later.ts)
import t from "tap";
import * as z from "zod";
import { later } from "../../../lib/contract/later.ts";

t.test("a schema is built once, by the first who uses it", async (t) => {
  let built = 0;
  const port = later(() => {
    built++;
    return z.int().min(1).describe("A port");
  });
  t.equal(built, 0);
  t.equal(port.parse(80), 80);
  t.equal(port.safeParse(0).success, false);
  t.equal(port.description, "A port");
  t.equal(built, 1);
});

t.test("it is what it would be if it had been built at once", async (t) => {
  const make = () =>
    z
      .strictObject({ at: z.string().meta({ id: "place" }).optional(), port: z.int().default(1) })
      .describe("An address");
  const schema = later(make);
  t.ok("_zod" in schema, "before its first use, too");
  t.ok(schema instanceof z.ZodObject);
  t.strictSame(z.toJSONSchema(schema), z.toJSONSchema(make()));
  t.strictSame(Object.keys(schema.extend({ more: z.null() }).shape), ["at", "port", "more"]);
  t.strictSame(schema.optional().parse({}), { port: 1 });
});

t.test("one may use another that stands further down, and each may be a part of others", async (t) => {
  const list = later(() => z.array(item).max(2));
  const item = later(() => z.object({ name: z.string() }));
  const both = z.object({ first: item, all: list });
  t.strictSame(both.parse({ first: { name: "a", more: 1 }, all: [] }), { first: { name: "a" }, all: [] });
  t.equal(list.safeParse([{ name: 1 }]).success, false);
  const named = z.object({ name: z.string() });
  t.strictSame(z.toJSONSchema(both), z.toJSONSchema(z.object({ first: named, all: z.array(named).max(2) })));
});

t.test("one that cannot be built says so each time", async (t) => {
  const broken = later((): z.ZodString => {
    throw new Error("no such rule");
  });
  for (const _ of [1, 2]) t.throws(() => broken.parse(""), { message: "no such rule" });
  const none = later(() => ({}) as z.ZodString);
  const [first, second] = [1, 2].map(() => {
    try {
      return none.parse("");
    } catch (error) {
      return (error as Error).message;
    }
  });
  t.equal(second, first);
});
