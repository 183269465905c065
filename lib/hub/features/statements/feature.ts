import type { HubFeature } from "../feature.ts";
import { statementKinds } from "./records.ts";
import { statementRoutes } from "./routes.ts";
import { statements as table } from "./tables.ts";

/** Statements that publishers add to their versions: provenance, a bill of materials, urgency. */
export const statements: HubFeature = {
  name: "statements",
  tables: [table],
  async listedOf(db, versions) {
    const kinds = await statementKinds(db, versions);
    return new Map(versions.map((id) => [id, { statements: kinds.get(id) ?? [] }]));
  },
  start: () => Promise.resolve({ routes: statementRoutes }),
};
