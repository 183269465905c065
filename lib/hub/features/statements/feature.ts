import type { HubFeature } from "../feature.ts";
import { listStatements, statementKinds, statementRecord } from "./records.ts";
import { statementRoutes } from "./routes.ts";
import { statements as table } from "./tables.ts";

/** Statements that publishers add to their versions: provenance, a bill of materials, urgency. */
export const statements: HubFeature = {
  name: "statements",
  tables: [table],
  statementsOf: async (db, versionId) => (await listStatements(db, versionId)).map(statementRecord),
  async listedOf(db, versions) {
    const kinds = await statementKinds(db, versions);
    return new Map(versions.map((id) => [id, { statements: kinds.get(id) ?? [] }]));
  },
  start: () => Promise.resolve({ routes: statementRoutes }),
};
