/** Rooms that everyone above them may import. */
const BASE = ["contract", "support"];
const GROUND = [...BASE, "artifact"];

/**
 * Groups of rooms that are checked together. The compiler checks each wing by itself, against the declarations of the
 * wings it stands on, so a change costs the types of its own wing until it changes something that others see. For each
 * room it says which other rooms it may import: of its own wing, or of those that the wing stands on.
 */
export const WINGS = {
  ground: {
    on: [],
    holds: "what every program needs: schemas, bytes, requests, options, and a project root on disk",
    rooms: {
      contract: [],
      support: ["contract"],
      artifact: BASE,
      client: GROUND,
      options: GROUND,
      releases: GROUND,
    },
  },
  hub: {
    on: ["ground"],
    holds: "the hub, and its pages",
    rooms: {
      hub: [...GROUND, "options", "client"],
      // Pages ask the routes that programs ask: what a page can do, a program can. The hub knows none.
      web: [...GROUND, "client", "hub/base", "hub/http", "hub/access"],
    },
  },
  host: {
    on: ["ground"],
    holds:
      "what runs where versions are made or deployed: publisher, operator, agent, applications, mirror, dashboards",
    rooms: {
      agent: [...GROUND, "client", "releases"],
      apps: [...GROUND, "releases"],
      publisher: [...GROUND, "client"],
      fleet: [...GROUND, "client", "releases"],
      mirror: [...BASE, "client"],
      tui: [...BASE, "client", "agent"],
    },
  },
  plugins: {
    on: ["ground"],
    holds: "the runtime of plugins, and what their authors import",
    rooms: { sdk: ["contract"], runtime: [...GROUND, "releases", "sdk"] },
  },
} satisfies Record<string, { on: readonly string[]; holds: string; rooms: Record<string, readonly string[]> }>;

/** Folders above all wings, which nothing of `lib` imports: programs, and the tools that build and test them. */
export const TOOLS = ["bin", "commands", "scripts", "test"];

/** Returns the table of wings for the page of the architecture. */
export function wingTable(): string {
  const rows = Object.entries(WINGS).map(([wing, { on, holds, rooms }]) => {
    const named = Object.keys(rooms).map((room) => `\`lib/${room}\``);
    return `| ${wing} | ${named.join(", ")} | ${on.join(", ") || "nothing"} | ${holds} |`;
  });
  const tools = TOOLS.map((folder) => `\`${folder}\``).join(", ");
  return [
    "| wing | folders | stands on | holds |",
    "| --- | --- | --- | --- |",
    ...rows,
    `| tools | ${tools} | all of them | programs, and what builds and tests them |`,
  ].join("\n");
}
