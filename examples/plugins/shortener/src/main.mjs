import { randomBytes } from "node:crypto";
import { defineAction, definePlugin } from "sealift/sdk";
import { z } from "zod";

export default definePlugin({
  actions: {
    shorten: defineAction({
      description: "Makes a short link",
      payload: z.object({
        url: z.url({ protocol: /^https?$/ }),
        slug: z
          .string()
          .regex(/^[a-z0-9-]{1,32}$/)
          .optional(),
      }),
      handler: async ({ url, slug = randomBytes(4).toString("hex") }, { services }) => {
        await services.cache.set(slug, url, 0);
        return { slug };
      },
    }),
    resolve: defineAction({
      description: "Where a short link leads, or null",
      payload: z.object({ slug: z.string() }),
      handler: ({ slug }, { services }) => services.cache.get(slug),
    }),
  },
  routes: [
    {
      // Public: GET /plugin/shortener/SLUG
      method: "GET",
      path: "/:slug",
      handler: async (request, reply, { services }) => {
        const url = await services.cache.get(request.params.slug);
        return url === null ? reply.code(404).send({ error: "no such link" }) : reply.redirect(url);
      },
    },
    {
      // Needs a bearer token with this permission; it is checked before the handler runs.
      method: "DELETE",
      path: "/:slug",
      permissions: ["links:delete"],
      handler: async (request, _reply, { services, logger }) => {
        logger.info("deleted", { slug: request.params.slug, by: request.claims.sub });
        return { deleted: await services.cache.delete(request.params.slug) };
      },
    },
  ],
  healthCheck: async ({ services }) => {
    await services.cache.set("health", 1, 5);
    return (await services.cache.get("health")) === 1;
  },
});
