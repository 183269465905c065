import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import * as z from "zod";
import { page } from "../../contract/surfaces/keys.ts";
import { labels } from "../../contract/surfaces/labels.ts";
import {
  ROLLOUT_ACTIONS,
  rolloutChange,
  rolloutRecord as rolloutSchema,
  rolloutRequest,
} from "../../contract/surfaces/rollouts.ts";
import { audited } from "../access/audit.ts";
import type { MountOptions } from "../access/authentication.ts";
import { controlledProject } from "../access/project-access.ts";
import { noSuchHost } from "../fleets/fleet-view.ts";
import { notFound } from "../ground/errors.ts";
import { errors, noContent, pageOf, pageQuery, security } from "../http/documentation.ts";
import { labelHost } from "../records/host-rows.ts";
import { subjectOf } from "../records/latest/states.ts";
import type { Records } from "../records/port.ts";
import { findRollout, listRollouts } from "../records/rollouts.ts";
import { actOnRollout, startRollout } from "../rollouts/commands.ts";
import type { Rollouts } from "../rollouts/rollouts.ts";
import { rolloutRecord, viewOf } from "../rollouts/stored.ts";

const projectParams = z.object({ id: z.string() });
const rolloutParams = projectParams.extend({ rollout: z.string() });

/** Rollouts of a project, plugin or service, for its owner (docs/contract/rollouts.md). */
export const rollouts: FastifyPluginAsyncZod<MountOptions<Records & { rollouts: Rollouts }>> = async (app, options) => {
  const { hub } = options;
  const db = hub.database.kysely;
  const controlled = controlledProject(options);
  const shared = { tags: ["rollouts"], security: security.key };

  app.post("/projects/:id/rollouts", {
    schema: {
      ...shared,
      summary: "Start a rollout of a version, which may yet have to be published",
      params: projectParams,
      body: rolloutRequest,
      response: { 201: rolloutSchema, ...errors(400, 401, 403, 404, 409, 415, 422) },
    },
    async handler(request, reply) {
      const { project, principal } = await controlled(request, request.params.id, "publish", "projects");
      const { version, replace = null } = request.body;
      const row = await audited(hub, request, principal, async (transaction, tell) => {
        const about = { owner: principal.owner, now: hub.clock() };
        const started = await startRollout(transaction, project.id, request.body, about);
        const subject = subjectOf(project);
        if (replace !== null) await tell({ action: "rollout.replace", subject, facts: { rollout: replace } });
        await tell({ action: "rollout.start", subject, facts: { rollout: started.id, version } });
        return started;
      });
      await hub.rollouts.decide(project.id);
      return reply.code(201).send(rolloutRecord(row));
    },
  });

  app.get("/projects/:id/rollouts", {
    schema: {
      ...shared,
      summary: "The rollouts of a project, plugin or service, newest first",
      params: projectParams,
      querystring: pageQuery,
      response: { 200: page(rolloutSchema), ...errors(401, 403, 404, 422) },
    },
    async handler(request) {
      const { project } = await controlled(request, request.params.id, "read", "publish", "projects");
      return pageOf(request.query, { by: "id", show: rolloutRecord }, (range) => listRollouts(db, project.id, range));
    },
  });

  app.get("/projects/:id/rollouts/:rollout", {
    schema: {
      ...shared,
      summary: "A rollout, with its waves and the hosts that fail",
      params: rolloutParams,
      response: { 200: rolloutSchema, ...errors(401, 403, 404) },
    },
    async handler(request) {
      const { project } = await controlled(request, request.params.id, "read", "publish", "projects");
      const row = await findRollout(db, project.id, request.params.rollout);
      if (row === undefined) throw notFound("The target has no such rollout.");
      return rolloutRecord(row);
    },
  });

  for (const action of ROLLOUT_ACTIONS) {
    app.post(`/projects/:id/rollouts/:rollout/${action}`, {
      schema: {
        ...shared,
        summary: SUMMARIES[action],
        params: rolloutParams,
        body: rolloutChange.nullish(),
        response: { 200: rolloutSchema, ...errors(400, 401, 403, 404, 409, 415, 422) },
      },
      async handler(request) {
        // A publisher's key does not approve its own version.
        const scopes = action === "approve" ? (["projects"] as const) : (["publish", "projects"] as const);
        const { project, principal } = await controlled(request, request.params.id, ...scopes);
        const change = request.body ?? {};
        const row = await audited(hub, request, principal, async (transaction, tell) => {
          const asked = { id: request.params.rollout, action, change, now: hub.clock() };
          const changed = await actOnRollout(transaction, project, asked);
          const facts = { rollout: changed.id, version: changed.version, reason: change.reason ?? null };
          await tell({ action: `rollout.${action}`, subject: subjectOf(project), facts });
          return changed;
        });
        await hub.rollouts.decide(project.id);
        return rolloutRecord(row);
      },
    });
  }

  app.put("/projects/:id/hosts/:host_id/labels", {
    schema: {
      ...shared,
      summary: "Give a host of the fleet labels in place of its own; null takes that back",
      params: projectParams.extend({ host_id: z.string().max(255) }),
      body: z.strictObject({ labels: labels.nullable() }),
      response: { 204: noContent, ...errors(400, 401, 403, 404, 415, 422) },
    },
    async handler(request, reply) {
      const { project, principal } = await controlled(request, request.params.id, "projects");
      const { host_id: host } = request.params;
      const text = request.body.labels === null ? null : JSON.stringify(request.body.labels);
      const named = { ...project, project_id: project.id };
      await audited(hub, request, principal, async (transaction, tell) => {
        if (!(await labelHost(transaction, viewOf(named), host, text))) throw noSuchHost();
        await tell({ action: "host.label", subject: subjectOf(project), facts: { host_id: host, labels: text } });
      });
      return reply.code(204).send(null);
    },
  });
};

const SUMMARIES: Record<(typeof ROLLOUT_ACTIONS)[number], string> = {
  pause: "Let no further host have the version for now",
  resume: "Go on with a rollout that is paused or halted; failures so far no longer count",
  approve: "Let the next wave open when its time has come, or let an empty one pass",
  abort: "End a rollout: no further host gets its version, and with rollback those that took it go back",
};
