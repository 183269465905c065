import { addressNames, type Application } from "../contract/files/application.ts";
import type { ApplicationGrant } from "../contract/files/applications.ts";
import { type InstalledApplication, readGrants, readInstalled } from "../releases/applications.ts";
import type { Layout } from "../releases/layout.ts";
import type { Addresses } from "./kept-sockets.ts";
import { ServeFault } from "./serve-fault.ts";
import { type RunAs, userOf } from "./user.ts";

/** Everything that a start of an application needs, read anew each time. */
export interface Setting extends InstalledApplication {
  user: RunAs;
  /** Addresses by name, those of handed-over sockets first. */
  addresses: Addresses;
}

/** Reads what is installed and what the operator grants. @throws ServeFault */
export async function readSetting(layout: Layout, id: string): Promise<Setting> {
  const grant = (await readGrants(layout))?.applications[id];
  if (grant === undefined) throw new ServeFault("not_granted", `applications.yaml does not grant ${id}.`);
  const installed = await readInstalled(layout, id);
  if (installed === undefined)
    throw new ServeFault("not_installed", `${id} is not installed here: its first deployment starts it.`);
  return { ...installed, user: await userOf(id, grant), addresses: addressesOf(id, installed.app, grant) };
}

function addressesOf(id: string, app: Application, { listen }: ApplicationGrant): Addresses {
  const names = addressNames(app);
  const missing = names.filter((name) => listen[name] === undefined);
  if (missing.length > 0)
    throw new ServeFault("not_granted", `applications.yaml gives ${id} no address for ${missing.join(", ")}.`);
  return Object.fromEntries(names.map((name) => [name, listen[name]!]));
}
