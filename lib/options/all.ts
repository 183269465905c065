import { agent, examination } from "./agent.ts";
import { common } from "./common.ts";
import { network } from "./connection.ts";
import {
  auditList,
  keyCreation,
  projectCreation,
  projectTransfer,
  versionComparison,
  versionDeletion,
  versionYank,
} from "./devkeys.ts";
import { systemd } from "./host.ts";
import { hub, hubBackup, hubMove, hubQuotaSet, hubRestore, hubRetain, hubVerify } from "./hub.ts";
import { consent, history, logs, pinning, removal, rollback } from "./inspection.ts";
import { login } from "./login.ts";
import { marketplacePublication, pluginPublication, searching, signingKey, yanking } from "./marketplace.ts";
import type { Option, Table } from "./option.ts";
import { plan, planCheck } from "./plan.ts";
import { keyPair, opening, publish } from "./publish.ts";
import { audit, development, packing, rights, runtime, scaffold, trial } from "./runtime.ts";
import { deployed, dryRun, marketplaceSource, projectSource } from "./sources.ts";
import { fleet, fleetWait, watch } from "./watch.ts";

/** Every group of options that a command takes its own from. */
const GROUPS: readonly Table[] = [
  ...[
    common,
    network,
    login,
    agent,
    deployed,
    dryRun,
    projectSource,
    marketplaceSource,
    watch,
    fleet,
    fleetWait,
    examination,
    plan,
    planCheck,
  ],
  ...[publish, keyPair, opening, marketplacePublication, yanking, searching, signingKey, keyCreation, projectCreation],
  ...[projectTransfer, versionComparison, versionDeletion, versionYank],
  ...[history, rollback, pinning, consent, removal, logs],
  ...[auditList, hubBackup, hubRestore, hubMove, hubVerify, hubRetain, hubQuotaSet],
  ...[hub, runtime, scaffold, trial, audit, rights, development, packing, pluginPublication, systemd],
];

/** Every option by its name. Several commands may have one of the same name that takes other values. */
export function optionsByName(): Map<string, Option[]> {
  const found = new Map<string, Option[]>();
  for (const table of GROUPS) {
    for (const option of Object.values(table)) found.set(option.name, [...(found.get(option.name) ?? []), option]);
  }
  return found;
}
