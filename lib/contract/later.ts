import * as z from "zod";

/** Builders of the schemas that have not been used yet. */
const builders = new WeakMap<object, () => z.ZodType>();

/** Prototype of a schema that has not been used yet: whoever asks it for anything has it built. */
const unbuilt: object = new Proxy(
  {},
  {
    get: (_, key, schema: object) => (build(schema), Reflect.get(schema, key) as unknown),
    has: (_, key) => key === "_zod",
  },
);

/** Turns an object into the schema that it stands for, as zod's own `clone` makes another one of the same class. */
function build(schema: object): void {
  const built = builders.get(schema)!();
  const { constr, def, parent } = built._zod;
  // Only now: a builder that fails does so at each use.
  builders.delete(schema);
  Object.setPrototypeOf(schema, constr.prototype as object);
  const { init } = constr as unknown as { init: (schema: object, def: object) => void };
  init(schema, def);
  const own = schema as z.ZodType;
  for (const finish of own._zod.deferred ?? []) finish();
  own._zod.deferred = undefined;
  own._zod.parent = parent;
  const meta = z.globalRegistry.get(built);
  if (meta !== undefined) z.globalRegistry.add(own, meta);
}

/**
 * Returns a schema that is built when it is first used. Each takes four kilobytes and some microseconds; a program
 * loads two thousand of them and uses a few hundred.
 *
 * @param make called once; may use schemas that stand further down in its module
 */
export function later<T extends z.ZodType>(make: () => T): T {
  const schema = Object.create(unbuilt) as T;
  builders.set(schema, make);
  return schema;
}
