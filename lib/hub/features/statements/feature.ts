import type { HubFeature } from "../feature.ts";
import { statementRoutes } from "./routes.ts";
import { statements as table } from "./tables.ts";

/** Statements that publishers add to their versions: provenance, a bill of materials, urgency. */
export const statements: HubFeature = {
  name: "statements",
  tables: [table],
  start: () => Promise.resolve({ routes: statementRoutes }),
};
