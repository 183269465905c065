import type { Deed } from "../../../contract/audit-actions.ts";
import { componentQuery } from "../../../contract/components/query.ts";
import { findComponents } from "../../../contract/components/routes.ts";
import { serve } from "../../access/serve.ts";
import { inTransaction } from "../../records/port.ts";
import { projectOfSubject } from "../../records/projects.ts";
import type { HubFeature } from "../feature.ts";
import { findComponents as find } from "./find.ts";
import { Indexing } from "./indexing.ts";
import { notePending } from "./pending-records.ts";
import { analyse } from "./records.ts";
import { componentLists, components as table, componentUses } from "./tables.ts";

const isOfSbom = ({ action, facts }: Deed): boolean => action === "statement.publish" && facts.kind === "sbom";

/** Components of published versions, to find the hosts that run a given one. */
export const components: HubFeature = {
  name: "components",
  tables: [table, componentLists, componentUses],
  async onAudit(db, entry) {
    if (!isOfSbom(entry)) return;
    const id = await projectOfSubject(db, entry.subject);
    await inTransaction(db, (transaction) => notePending(transaction, id));
  },
  start(core) {
    const indexing = new Indexing(core);
    const db = core.database.kysely;
    return Promise.resolve({
      routes: () => [
        serve(findComponents, async (request, principal) => find(db, componentQuery(request.query.q)!, principal)),
      ],
      afterAudit(entry) {
        if (isOfSbom(entry)) indexing.wake();
        return Promise.resolve();
      },
      [Symbol.asyncDispose]: () => indexing[Symbol.asyncDispose](),
      chores: {
        "SBOMs to index": () => indexing.find(),
        ...(core.database.dialect === "postgres" && {
          "statistics of components": async () => void (await analyse(db)),
        }),
        "unused components": () => indexing.forget(),
      },
    });
  },
};
