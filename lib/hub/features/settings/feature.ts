import type { HubFeature } from "../feature.ts";
import { dropHost, findHostSettings, forgetProject, hostsWithCards, renameHostSettings } from "./records.ts";
import { settingsRoutes } from "./routes.ts";
import { keysOfCard, showAsNone, showSettings } from "./shown.ts";
import { hostSettings, hostTerms } from "./tables.ts";

/** Settings of hosts, which the hub carries and cannot read; cards of hosts, and what hosts say of their settings. */
export const settings: HubFeature = {
  name: "settings",
  tables: [hostSettings, hostTerms],
  async hostKeysOf(db, project_id, host_id) {
    const { card = null } = (await findHostSettings(db, { project_id, host_id })) ?? {};
    return card === null ? undefined : keysOfCard(card);
  },
  hostsWithKeys: hostsWithCards,
  async onAudit(db, { action, subject: project_id, facts }) {
    if (action === "host.rename") await renameHostSettings(db, { project_id, host_id: facts.from }, facts.to);
    if (action === "host.remove") await dropHost(db, { project_id, host_id: facts.host_id });
  },
  // Hosts whose keys stay go on with their settings, and with the operator whom they have pinned.
  async onTransfer(transaction, { id, settings_version: version }, { keepKeys }) {
    if (keepKeys) return;
    await forgetProject(transaction, id);
    if (version !== null) await showAsNone(transaction, id, "all");
  },
  async onHosts(transaction, { holder, target }, hostIds) {
    if (holder === "") await showSettings(transaction, target, hostIds);
  },
  onDelete: (transaction, { id }) => forgetProject(transaction, id),
  start: () => Promise.resolve({ routes: settingsRoutes }),
};
