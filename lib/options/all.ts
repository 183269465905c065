import * as agent from "./agent.ts";
import * as apps from "./apps.ts";
import * as common from "./common.ts";
import * as connection from "./connection.ts";
import * as devkeys from "./devkeys.ts";
import * as hub from "./hub.ts";
import * as importing from "./import.ts";
import * as inspection from "./inspection.ts";
import * as joining from "./joining.ts";
import * as kits from "./kits.ts";
import * as labels from "./labels.ts";
import * as login from "./login.ts";
import * as marketplace from "./marketplace.ts";
import * as mirror from "./mirror.ts";
import * as operating from "./operating.ts";
import type { Option, OptionTable } from "./option.ts";
import * as plan from "./plan.ts";
import * as publish from "./publish.ts";
import * as publishers from "./publishers.ts";
import * as quotas from "./quotas.ts";
import * as rollouts from "./rollouts.ts";
import * as runtime from "./runtime.ts";
import * as settings from "./settings.ts";
import * as signOn from "./sign-on.ts";
import * as sources from "./sources.ts";
import * as staging from "./staging.ts";
import * as statements from "./statements.ts";
import * as trust from "./trust.ts";
import * as watch from "./watch.ts";
import * as webhooks from "./webhooks.ts";

/** Modules that describe options; every table that one of them exports counts. */
const FILES: readonly object[] = [
  ...[common, connection, login, agent, sources, watch, plan, publish, marketplace, devkeys, inspection, quotas, hub],
  ...[runtime, importing, publishers, staging, statements, signOn, joining, labels, rollouts, operating, webhooks],
  ...[mirror, apps, trust, settings, kits],
];

const isTable = (value: unknown): value is OptionTable =>
  typeof value === "object" && value !== null && Object.values(value).every((option) => isOption(option));

const isOption = (value: unknown): value is Option =>
  typeof value === "object" && value !== null && "flag" in value && "parse" in value;

/** Returns every option by its name. Commands may share a name for options with different values. */
export function optionsByName(): Map<string, Option[]> {
  const found = new Map<string, Option[]>();
  for (const table of FILES.flatMap((file) => Object.values(file).filter(isTable))) {
    for (const option of Object.values(table)) found.set(option.name, [...(found.get(option.name) ?? []), option]);
  }
  return found;
}
