import { isUsablePublicKey } from "../../../artifact/signatures/ed25519.ts";
import { anchoredRoot } from "../../../artifact/trust/root.ts";
import * as routes from "../../../contract/joining/routes.ts";
import type { Labels } from "../../../contract/labels.ts";
import { audited, auditWriterOf } from "../../access/audit.ts";
import type { MountOptions } from "../../access/authentication.ts";
import { endsToGive, grantableKey } from "../../access/key-rights.ts";
import { controlledBy } from "../../access/project-access.ts";
import { serve, type Served } from "../../access/serve.ts";
import { checked, conflict, hostTaken, keyRejected, notFound, unprocessable } from "../../base/errors.ts";
import type { Principal } from "../../base/principal.ts";
import { pageOf } from "../../http/documentation.ts";
import { principalOfKey } from "../../records/keys.ts";
import { inTransaction, type Records } from "../../records/port.ts";
import { lockIfThere } from "../../records/projects.ts";
import { approveJoined, listJoined, remove, rename } from "./host-records.ts";
import { findInvite, insertInvite, listInvites, lockInvite, revokeInvites } from "./invite-records.ts";
import { join, scopesOfHost } from "./join.ts";
import { termsFor } from "./terms.ts";

const noSuchHost = () => notFound("No host of this name has joined the project, waits for approval, or has a kit.");

/** Invites, hosts that join with them, and hosts that are removed (docs/contract/joining.md). */
export function joiningRoutes({ hub, authentication }: MountOptions<Records>): readonly Served[] {
  const db = hub.database.kysely;
  const controlled = controlledBy(hub);

  /**
   * Returns a project that hosts may join. Plugins and services are excluded: no hub hands out their signing secrets.
   */
  async function projectOf(principal: Principal, id: string): Promise<{ id: string }> {
    const project = await controlled(principal, id);
    if (project.kind !== "project") throw unprocessable("Hosts join projects, and no plugins or services.");
    return project;
  }

  return [
    serve(routes.createInvite, async (request, principal) => {
      const { id } = await projectOf(principal, request.params.id);
      const { body } = request;
      const wanted = { name: "host", project_id: id, scopes: scopesOfHost(body.fleet === true), expires_at: null };
      grantableKey(principal, wanted, hub.now());
      if (new Date(body.expires_at).toISOString() <= hub.now()) throw unprocessable("expires_at: lies in the past.");
      const { root } = body;
      const pinned = root === undefined ? undefined : checked(() => anchoredRoot(root, "root"));
      const unusable = body.signers?.find((key) => !isUsablePublicKey(Buffer.from(key, "hex")));
      if (unusable !== undefined) throw unprocessable(`signers: no verifier accepts ${unusable}.`);
      const terms = body.terms === undefined ? undefined : termsFor(body, { text: body.terms, projectId: id, pinned });
      const authority = { principal, projectIds: [id] } as const;
      return audited(hub, request, authority, async (transaction, tell, { caller, targets: [project] }) => {
        const { expiresAt: keysEndAt } = grantableKey(principalOfKey(caller), wanted, hub.now());
        const facts = { project, maker: caller, keysEndAt, ends: endsToGive(caller), terms, now: hub.clock() };
        const invite = await insertInvite(transaction, body, facts);
        const { id: invite_id, uses, expires_at, approve: needsApproval } = invite;
        const inviteFacts = { invite_id, uses, expires_at, approve: needsApproval };
        await tell({ action: "invite.create", subject: id, facts: inviteFacts });
        return invite;
      });
    }),

    serve(routes.listInvites, async (request, principal) => {
      const { id } = await projectOf(principal, request.params.id);
      return pageOf(request.query, { by: "id" }, (range) => listInvites(db, id, range, hub.now()));
    }),

    serve(routes.revokeInvite, async (request, principal) => {
      const { id } = await projectOf(principal, request.params.id);
      const { invite } = request.params;
      await audited(hub, request, { principal, projectIds: [id] }, async (transaction, tell) => {
        const revoked = await revokeInvites(transaction, { project_id: id, id: invite }, hub.now());
        if (revoked === 0) throw notFound("The project has no such invite, or it was revoked before.");
        await tell({ action: "invite.revoke", subject: id, facts: { invite_id: invite } });
      });
    }),

    serve(routes.join, async (request) => {
      const { body, ip: address } = request;
      return inTransaction(db, async (transaction) => {
        const asked = await findInvite(transaction, body.token);
        // A transfer ends the keys that it sees: this one comes before it, or finds the invite revoked.
        const project = asked && (await lockIfThere(transaction, asked.project_id));
        const invite = project && (await lockInvite(transaction, body.token));
        if (project === undefined || invite === undefined)
          throw authentication.rejected(request, keyRejected("join token"), body.token);
        const { host, isNew } = await join(transaction, body, { project, invite, address, now: hub.clock() });
        const { id: keyId, owner, project_id: subject } = invite;
        const facts = { host_id: host.host_id, state: host.state, invite_id: keyId };
        if (isNew)
          await auditWriterOf(hub, request, { owner, keyId })(transaction, { action: "host.join", subject, facts });
        return {
          state: host.state === "joined" ? ("joined" as const) : ("pending" as const),
          host_id: host.host_id,
          ...{ project_id: project.id, project_name: project.name },
          labels: JSON.parse(invite.labels) as Labels,
          signers: JSON.parse(invite.signers) as string[],
          ...(invite.root !== null && { root: invite.root }),
          ...(invite.terms !== null && { terms: invite.terms }),
        };
      });
    }),

    serve(routes.listJoined, async (request, principal) => {
      const { id } = await projectOf(principal, request.params.id);
      return pageOf(request.query, { by: "host_id" }, (range) => listJoined(db, id, request.query, range, hub.now()));
    }),

    serve(routes.approveHost, async (request, principal) => {
      const { id: project_id } = await projectOf(principal, request.params.id);
      const { host: host_id } = request.params;
      await audited(hub, request, { principal, projectIds: [project_id] }, async (transaction, tell) => {
        const state = await approveJoined(transaction, { project_id, host_id });
        if (state === undefined) throw noSuchHost();
        if (state === "revoked")
          throw conflict(`The invite of ${host_id} was revoked. Remove the host, and let it join with another invite.`);
        if (state !== "pending") throw conflict(`${host_id} was let in already.`);
        await tell({ action: "host.approve", subject: project_id, facts: { host_id } });
      });
    }),

    serve(routes.renameHost, async (request, principal) => {
      const { id: project_id } = await projectOf(principal, request.params.id);
      const { host: host_id } = request.params;
      const { host_id: to } = request.body;
      const authority = { principal, projectIds: [project_id] } as const;
      await audited(hub, request, authority, async (transaction, tell, { targets: [project] }) => {
        const isDone = await rename(transaction, project, { from: host_id, to });
        if (isDone === undefined) throw noSuchHost();
        if (isDone === false) return;
        if (isDone !== true) throw hostTaken(isDone);
        await tell({ action: "host.rename", subject: project_id, facts: { from: host_id, to } });
      });
    }),

    serve(routes.removeHost, async (request, principal) => {
      const { id: project_id } = await projectOf(principal, request.params.id);
      const { host: host_id } = request.params;
      const authority = { principal, projectIds: [project_id] } as const;
      await audited(hub, request, authority, async (transaction, tell, { targets: [project] }) => {
        const keys = await remove(transaction, project, host_id, hub.now());
        if (keys === undefined) throw noSuchHost();
        await tell({ action: "host.remove", subject: project_id, facts: { host_id, keys } });
      });
    }),
  ];
}
