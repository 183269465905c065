import { defineAction, definePlugin, PayloadError } from "sealift/sdk";
import { z } from "zod";

export default definePlugin({
  onLoad: async ({ services }) => {
    const { main } = services.databases;
    await main.execute("CREATE TABLE IF NOT EXISTS entries (id INTEGER PRIMARY KEY, guest TEXT, text TEXT)");
    await main.execute("CREATE TABLE IF NOT EXISTS guests (name TEXT PRIMARY KEY, entries INTEGER)");
  },
  actions: {
    sign: defineAction({
      description: "Adds an entry",
      payload: z.object({ guest: z.string().min(1), text: z.string().min(1) }),
      handler: async ({ guest, text }, { services, config, events, logger }) => {
        // What a schema cannot say, because it is configured.
        if (text.length > config.longest) throw new PayloadError(`text is longer than ${config.longest} characters`);
        // Both tables change, or neither.
        const id = await services.databases.main.transaction(async (transaction) => {
          await transaction.execute(
            "INSERT INTO guests VALUES (?, 1) ON CONFLICT (name) DO UPDATE SET entries = entries + 1",
            [guest],
          );
          const { rows } = await transaction.execute("INSERT INTO entries (guest, text) VALUES (?, ?) RETURNING id", [
            guest,
            text,
          ]);
          return rows[0].id;
        });
        await events.emit("guestbook.signed", { id, guest });
        logger.info("signed", { id, guest });
        return { id };
      },
    }),
    read: defineAction({
      description: "The latest entries",
      payload: z.object({ count: z.int().min(1).max(100).default(10) }),
      handler: ({ count }, { services }) =>
        services.databases.main.query("SELECT id, guest, text FROM entries ORDER BY id DESC LIMIT ?", [count]),
    }),
  },
});
