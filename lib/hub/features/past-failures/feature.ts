import type { ActionName } from "../../../contract/audit-actions.ts";
import { settledWithin } from "../../../support/within.ts";
import { settlePastFailures, settleReported, type Suspects, viewsOf } from "../../records/past-failures.ts";
import type { HubFeature } from "../feature.ts";

/** Actions after which failures of hosts are past, or count again. */
const SETTLING: Partial<Record<ActionName, Suspects>> = {
  "version.yank": "failing",
  "version.delete": "failing",
  "version.unyank": "marked",
};

/** Longest time for which the answer to such an action waits, in milliseconds: large fleets take longer. */
const WAIT_MS = 500;

/** Counts no host as failing for a version that was yanked or deleted, once it runs another one. */
export const pastFailures: HubFeature = {
  name: "past-failures",
  async onReports(transaction, reports) {
    const failed = reports.filter(({ status }) => status !== "success");
    if (failed.length === 0) return;
    const { holder, target } = failed[0]!;
    await settleReported(transaction, { holder, target }, [...new Set(failed.map(({ hostId }) => hostId))]);
  },
  start({ database, logger, metrics }) {
    const running = new Set<Promise<void>>();
    const settle = async (subject: string, suspects: Suspects): Promise<void> => {
      try {
        for (const view of await viewsOf(database.kysely, subject))
          await settlePastFailures(database.kysely, view, suspects);
      } catch (error) {
        metrics?.upkeepFailed("past-failures");
        logger?.error({ err: error, subject }, "could not settle which failures of hosts are past");
      }
    };
    return Promise.resolve({
      async afterAudit({ action, subject }) {
        const suspects = SETTLING[action];
        if (suspects === undefined) return;
        const work = settle(subject, suspects).finally(() => running.delete(work));
        running.add(work);
        await settledWithin(work, WAIT_MS);
      },
      async [Symbol.asyncDispose]() {
        await Promise.all(running);
      },
    });
  },
};
