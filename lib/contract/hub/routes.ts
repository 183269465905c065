import type { Route } from "../route.ts";
import { hubFacts } from "../surfaces/keys.ts";

export const showHub = {
  method: "GET",
  mount: "devkeys",
  path: "/hub",
  who: { administrator: true, refusal: "Only an administrator reads the facts of the hub." },
  summary: "The hub's database and storage, its start and its memory",
  tags: ["key service"],
  ok: { 200: hubFacts },
} as const satisfies Route;
