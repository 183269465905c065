import { componentQuery } from "../../../contract/components/query.ts";
import { findComponents } from "../../../contract/components/routes.ts";
import { serve } from "../../access/serve.ts";
import { projectOfSubject } from "../../records/projects.ts";
import type { HubFeature } from "../feature.ts";
import { findComponents as find } from "./find.ts";
import { Indexing } from "./indexing.ts";
import { analyse } from "./records.ts";
import { componentLists, components as table, componentUses } from "./tables.ts";

/** Components of published versions, to find the hosts that run a given one. */
export const components: HubFeature = {
  name: "components",
  tables: [table, componentLists, componentUses],
  start(core) {
    const indexing = new Indexing(core);
    const db = core.database.kysely;
    return Promise.resolve({
      routes: () => [
        serve(findComponents, async (request, principal) => find(db, componentQuery(request.query.q)!, principal)),
      ],
      async afterAudit({ action, subject, facts }) {
        if (action !== "statement.publish" || facts?.["kind"] !== "sbom") return;
        await projectOfSubject(db, subject).then(
          (id) => indexing.index(id),
          // The target was deleted meanwhile.
          () => undefined,
        );
      },
      chores: {
        "SBOMs to index": () => indexing.index(),
        ...(core.database.dialect === "postgres" && {
          "statistics of components": async () => void (await analyse(db)),
        }),
        "unused components": () => indexing.forget(),
      },
    });
  },
};
