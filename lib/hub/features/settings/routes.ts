import { type Card, readCard } from "../../../artifact/sealed/card.ts";
import { hostFingerprint } from "../../../artifact/sealed/host-key.ts";
import { parseOutcome, readOutcome } from "../../../artifact/sealed/settings.ts";
import { readTerms, type SignedTerms } from "../../../artifact/sealed/terms.ts";
import { MOST_AHEAD } from "../../../contract/settings/limits.ts";
import type { CardUpload } from "../../../contract/settings/records.ts";
import * as routes from "../../../contract/settings/routes.ts";
import { namesText } from "../../../support/names-text.ts";
import { audited } from "../../access/audit.ts";
import type { MountOptions } from "../../access/authentication.ts";
import { controlledBy } from "../../access/project-access.ts";
import { serve, type Served } from "../../access/serve.ts";
import { checked, forbidden, HubError, notFound, unprocessable } from "../../base/errors.ts";
import type { Principal } from "../../base/principal.ts";
import type { Records } from "../../records/port.ts";
import { listHostSettings } from "./list-records.ts";
import {
  compareUploads,
  dropHost,
  findHostSettings,
  hasCard,
  type Passed,
  storeCard,
  storeOutcome,
  storeUploads,
  unknownHosts,
} from "./records.ts";
import { keysOfCard, showSettings } from "./shown.ts";

/** Cards of hosts, settings that are sealed to them, and what they say of them (docs/contract/settings.md). */
export function settingsRoutes({ hub }: MountOptions<Records>): readonly Served[] {
  const db = hub.database.kysely;
  const controlled = controlledBy(hub);

  /** Returns the id of a project that the key may act on. Plugins and services have no settings of hosts. */
  async function projectOf(principal: Principal, id: string): Promise<string> {
    const project = await controlled(principal, id);
    if (project.kind !== "project") throw notFound("There is no such project.");
    return project.id;
  }

  return [
    serve(routes.sendCard, async (request, principal) => {
      const project_id = await projectOf(principal, request.params.id);
      const host_id = hostOf(principal);
      const { card, terms } = cardIn(request.body, project_id);
      // A watch sends its card at every start.
      if (await hasCard(db, { project_id, host_id }, card, terms)) return;
      const authority = { principal, projectIds: [project_id] } as const;
      await audited(hub, request, authority, async (transaction, tell, { caller }) => {
        const name = { project_id, host_id: hostOf(caller) };
        const before = await storeCard(transaction, name, card, terms);
        if (before === undefined) return;
        const facts = { host_id: name.host_id, fingerprint: card.fingerprint, before };
        await tell({ action: "host.card", subject: project_id, facts });
      });
    }),

    serve(routes.readOwnSettings, async (request, principal) => {
      const project_id = await projectOf(principal, request.params.id);
      const found = await findHostSettings(db, { project_id, host_id: hostOf(principal) });
      const { number = null, sealed_to: to = null, sealed = null } = found ?? {};
      if (number === null || to === null || sealed === null) throw notFound("Nobody has made settings for this host.");
      return { to, number, sealed };
    }),

    serve(routes.sendOutcome, async (request, principal) => {
      const project_id = await projectOf(principal, request.params.id);
      hostOf(principal);
      const { outcome: text } = request.body;
      const { signed } = checked(() => parseOutcome(text));
      if (signed.project !== project_id) throw unprocessable("outcome: is of another project.");
      const authority = { principal, projectIds: [project_id] } as const;
      await audited(hub, request, authority, async (transaction, _tell, { caller }) => {
        const name = { project_id, host_id: hostOf(caller) };
        const { card = null, number = null } = (await findHostSettings(transaction, name)) ?? {};
        // A hub that was restored is behind by a few; nobody comes to the highest number that there is.
        if (signed.number > (number ?? 0) + MOST_AHEAD) throw madeUp(signed.number, number);
        if (card !== null) requireSaidBy(card, text, project_id);
        await storeOutcome(transaction, name, text, hub.now());
      });
    }),

    serve(routes.listSettings, async (request, principal) => {
      const projectId = await projectOf(principal, request.params.id);
      const { cursor: after, limit, host_id: only } = request.query;
      return listHostSettings(db, { projectId, only, now: hub.now() }, { after, limit });
    }),

    serve(routes.uploadSettings, async (request, principal) => {
      const id = await projectOf(principal, request.params.id);
      const { documents } = request.body;
      const authority = { principal, projectIds: [id] } as const;
      return audited(hub, request, authority, async (transaction, tell, { caller, targets: [project] }) => {
        const unknown = await unknownHosts(transaction, id, documents, hub.now());
        if (unknown.length > 0)
          throw unprocessable(`documents: no key of the project speaks for ${namesText(unknown)}.`);
        const { fresh, conflicts } = await compareUploads(transaction, id, documents);
        if (conflicts.length > 0) throw overtaken(conflicts);
        if (fresh.length === 0) return { settings_version: project.settings_version ?? 1 };
        const version = await storeUploads(transaction, project, fresh, { by: caller.id, now: hub.clock() });
        const facts = { hosts: fresh.length, settings_version: version };
        await tell({ action: "settings.upload", subject: id, facts });
        return { settings_version: version };
      });
    }),

    serve(routes.dropSettings, async (request, principal) => {
      const project_id = await projectOf(principal, request.params.id);
      const { host: host_id } = request.params;
      await audited(hub, request, { principal, projectIds: [project_id] }, async (transaction, tell) => {
        const gone = await dropHost(transaction, { project_id, host_id });
        if (gone === undefined) throw notFound("The hub has no card and no settings of a host of this name.");
        await showSettings(transaction, project_id, [host_id]);
        await tell({ action: "settings.drop", subject: project_id, facts: { host_id, number: gone.number } });
      });
    }),
  ];
}

/** Returns the host that a key speaks for. @throws HubError 403 for a key of several hosts */
function hostOf({ host }: Pick<Principal, "host">): string {
  if (host === null) throw forbidden("Settings are of one host, and this key speaks for any: a host gets its own.");
  return host;
}

/**
 * Reads a card with its terms. Who has invited the host is for the operator to verify.
 *
 * @throws HubError 422 `card_invalid`, `terms_invalid`; 422 for those of another project, and for terms that the card
 *   does not name
 */
function cardIn(
  { card: text, terms: termsText }: CardUpload,
  projectId: string,
): { card: Card; terms: SignedTerms | undefined } {
  const card = checked(() => readCard(text));
  if (card.signed.project !== projectId) throw unprocessable("card: is of another project.");
  if (termsText === undefined) return { card, terms: undefined };
  const terms = checked(() => readTerms(termsText));
  if (terms.digest !== card.signed.terms) throw unprocessable("terms: are not those that the card names.");
  if (terms.signed.project !== projectId) throw unprocessable("terms: are of another project.");
  return { card, terms };
}

/** Requires that the host of a card has signed an outcome. @throws HubError 422 `outcome_invalid` */
function requireSaidBy(card: string, outcome: string, project: string): void {
  const keys = keysOfCard(card);
  checked(() => readOutcome(outcome, { ed25519: keys.ed25519, fingerprint: hostFingerprint(keys), project }));
}

const madeUp = (number: number, known: number | null): HubError =>
  new HubError(
    422,
    "outcome_invalid",
    `outcome: has the number ${number}, and the newest settings of the host ${known === null ? "were never uploaded" : `have ${known}`}.`,
  );

const overtaken = (hosts: readonly Passed[]): HubError =>
  new HubError(
    409,
    "settings_conflict",
    `Nothing was taken: the hub has other settings than those that the new ones follow, of ` +
      `${namesText(hosts.map(({ host_id }) => host_id))}.`,
    { fields: { hosts } },
  );
