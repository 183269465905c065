import type { RolloutAction, RolloutRecord } from "../../../contract/rollouts/records.ts";
import * as routes from "../../../contract/rollouts/routes.ts";
import { audited } from "../../access/audit.ts";
import type { MountOptions } from "../../access/authentication.ts";
import { controlledBy } from "../../access/project-access.ts";
import { serve, type Served } from "../../access/serve.ts";
import { notFound } from "../../base/errors.ts";
import type { Principal } from "../../base/principal.ts";
import { pageOf } from "../../http/documentation.ts";
import type { Records } from "../../records/port.ts";
import { subjectOf } from "../../records/subjects.ts";
import { type AwaitingRollout, withAwaited } from "./awaited.ts";
import { actOnRollout, startRollout } from "./commands.ts";
import type { RolloutDecider } from "./decider.ts";
import { findRollout, listRollouts } from "./records.ts";
import { rolloutRecord } from "./stored.ts";

type ActionRoute =
  typeof routes.pauseRollout | typeof routes.resumeRollout | typeof routes.approveRollout | typeof routes.abortRollout;

/** Returns a rollout without the failures of other hosts than the one that a key speaks for. */
const shownTo = ({ host }: Principal, record: RolloutRecord): RolloutRecord => {
  if (host === null) return record;
  const own = <T extends { host_id: string }>(hosts: readonly T[]): T[] =>
    hosts.filter(({ host_id: id }) => id === host);
  const halt = record.halt && { ...record.halt, hosts: own(record.halt.hosts) };
  return { ...record, failing: own(record.failing), halt, awaited: own(record.awaited) };
};

/** Routes of rollouts of a project, plugin or service, for its owner (docs/contract/rollouts.md). */
export function rollouts({ hub }: MountOptions<Records>, decider: RolloutDecider): readonly Served[] {
  const db = hub.database.kysely;
  const projectOf = controlledBy(hub);

  const act = (route: ActionRoute, action: RolloutAction) =>
    serve(route, async (request, principal) => {
      const project = await projectOf(principal, request.params.id);
      const change = request.body ?? {};
      const row = await audited(hub, request, { principal, projectIds: [project.id] }, async (transaction, tell) => {
        const asked = { id: request.params.rollout, action, change, now: hub.clock() };
        const changed = await actOnRollout(transaction, project, asked);
        const facts = { rollout: changed.id, version: changed.version, reason: change.reason ?? null };
        await tell({ action: `rollout.${action}`, subject: subjectOf(project), facts });
        return changed;
      });
      await decider.decide(project);
      return rolloutRecord(await withAwaited(db, row));
    });

  return [
    serve(routes.startRollout, async (request, principal) => {
      const project = await projectOf(principal, request.params.id);
      const { version, replace = null } = request.body;
      const authority = { principal, projectIds: [project.id] };
      const row = await audited(hub, request, authority, async (transaction, tell, { caller }) => {
        const about = { owner: caller.owner, now: hub.clock() };
        const started = await startRollout(transaction, project.id, request.body, about);
        const subject = subjectOf(project);
        if (replace !== null) await tell({ action: "rollout.replace", subject, facts: { rollout: replace } });
        await tell({ action: "rollout.start", subject, facts: { rollout: started.id, version } });
        return started;
      });
      await decider.decide(project);
      return rolloutRecord(await withAwaited(db, row));
    }),

    serve(routes.listRollouts, async (request, principal) => {
      const { id } = await projectOf(principal, request.params.id);
      const show = (row: AwaitingRollout) => shownTo(principal, rolloutRecord(row));
      return pageOf(request.query, { by: "id", show }, async (range) =>
        Promise.all((await listRollouts(db, id, range)).map((row) => withAwaited(db, row))),
      );
    }),

    serve(routes.showRollout, async (request, principal) => {
      const { id } = await projectOf(principal, request.params.id);
      const row = await findRollout(db, id, request.params.rollout);
      if (row === undefined) throw notFound("The target has no such rollout.");
      return shownTo(principal, rolloutRecord(await withAwaited(db, row)));
    }),

    act(routes.pauseRollout, "pause"),
    act(routes.resumeRollout, "resume"),
    act(routes.approveRollout, "approve"),
    act(routes.abortRollout, "abort"),
  ];
}
