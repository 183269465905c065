const { readFile, rename, writeFile } = require("node:fs/promises");
const { join } = require("node:path");
const { definePlugin } = require("sealift/sdk");

/** Guest → entries. */
let counts = {};

async function save(dataDir) {
  // A file that is written beside and then renamed is never found half written.
  const file = join(dataDir, "counts.json");
  await writeFile(`${file}.new`, JSON.stringify(counts));
  await rename(`${file}.new`, file);
}

module.exports = definePlugin({
  onLoad: async ({ dataDir, events, logger }) => {
    const text = await readFile(join(dataDir, "counts.json"), "utf8").catch(() => "{}");
    counts = JSON.parse(text);
    events.on("guestbook.signed", ({ guest }) => {
      counts[guest] = (counts[guest] ?? 0) + 1;
      save(dataDir).catch((error) => logger.error("the counts cannot be kept", { reason: error.message }));
    });
  },
  actions: {
    count: {
      description: "How often a guest has signed",
      // A JSON Schema does as well as zod.
      payload: { type: "object", properties: { guest: { type: "string" } }, required: ["guest"] },
      handler: ({ guest }) => counts[guest] ?? 0,
    },
    latest: {
      description: "The latest entries, from the plugin guestbook",
      handler: (_payload, { call }) => call("guestbook", "read", { count: 3 }),
    },
  },
});
