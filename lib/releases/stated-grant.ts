import { usageError } from "../contract/errors.ts";
import { addressNames } from "../contract/files/address-variables.ts";
import { APPLICATION_FILE } from "../contract/files/application-names.ts";
import { closestTo } from "../support/suggestion.ts";
import { findUser } from "../support/users.ts";
import { readGrants, readInstalled } from "./applications.ts";
import type { Layout } from "./layout.ts";
import type { StatedGrant } from "./write-grant.ts";

/**
 * Compares a grant with the application that is installed, so that a slip of the pen takes no running application down.
 * Names that only a version to come has are taken where all installed ones have their addresses.
 *
 * @returns names of addresses that the installed version does not have
 * @throws UsageError `usage`
 */
export async function compareGrant(layout: Layout, id: string, { listen }: StatedGrant): Promise<string[]> {
  const installed = await readInstalled(layout, id);
  if (installed === undefined) return [];
  const names = addressNames(installed.app);
  const given = Object.keys(listen ?? (await readGrants(layout))?.applications[id]?.listen ?? {});
  const unknown = given.filter((name) => !names.includes(name));
  const lacking = names.filter((name) => !given.includes(name));
  if (lacking.length === 0) return unknown;
  const meant = unknown.map((name) => [name, closestTo(name, lacking)]).find(([, known]) => known !== undefined);
  throw usageError(
    "usage",
    `The ${APPLICATION_FILE} of ${id} has ${lacking.join(", ")}, and no address is given for it.`,
    {
      hint:
        meant === undefined
          ? `Give all addresses: ${names.map((name) => `${name}=ADDRESS`).join(" ")}. Nothing was changed.`
          : `Did you mean ${meant[1]} by ${meant[0]}? Nothing was changed.`,
    },
  );
}

/** Requires that this machine has a user, who is not root. @throws UsageError `usage` */
export async function requireUser(name: string): Promise<void> {
  const found = await findUser(name);
  if (found === undefined)
    throw usageError("usage", `This machine has no user ${name}.`, {
      hint: `Make one: \`useradd --system ${name}\`. Nothing was changed.`,
    });
  if (found.uid === 0) throw usageError("usage", `${name} is root, and no application runs as root.`);
}
