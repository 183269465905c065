import type { FastifyServerOptions } from "fastify";

/**
 * Keeps Fastify from loading its own compilers of schemas, for an app whose routes have none, or bring a compiler of
 * their own: they are a fifth of a start.
 */
export const NO_COMPILERS = {
  compilersFactory: {
    buildValidator: () => (() => () => true) as never,
    buildSerializer: () => () => JSON.stringify,
  },
} satisfies FastifyServerOptions["schemaController"];
