import { askedApplications, basesFirst, grantFor, takenPorts } from "../../lib/agent/applications/asked-grants.ts";
import { usageError } from "../../lib/contract/errors.ts";
import type { AppLimits } from "../../lib/contract/files/limit-forms.ts";
import { readGrants } from "../../lib/releases/applications.ts";
import type { Layout } from "../../lib/releases/layout.ts";
import { grantLines } from "./grant-text.ts";

/** Application whose units are to be written. */
export interface Wanted {
  id: string;
  /** Application that it is of; undefined for none. */
  of: string | undefined;
  /** Address that systemd keeps open; undefined for none. */
  socket: readonly [name: string, address: string] | undefined;
  /** Addresses by name. */
  addresses: Readonly<Record<string, string>>;
  limits: AppLimits;
}

/** Lists what the applications of a release ask of a host, and tells it in lines; `of` follows its base. */
export async function askedInUnits(
  layout: Layout,
  from: string,
  given: {
    id: string | undefined;
    listen: Readonly<Record<string, string>>;
    limits: AppLimits;
    user?: string | undefined;
  },
  tell: (line: string) => void,
): Promise<(Wanted & { sockets: number })[]> {
  const before = await readGrants(layout);
  const taken = takenPorts(before);
  const asked = basesFirst(await askedApplications(from, given.id));
  if (given.user !== undefined && asked.filter(([, { of }]) => of === undefined).length > 1)
    throw usageError("usage", `--user ${given.user} is one user, and several applications ask.`, {
      hint: "Leave it out, so that each has one of its own, or name one application.",
    });
  const found: (Wanted & { sockets: number })[] = [];
  for (const [id, app] of asked) {
    const { listen, limits } = await grantFor(app, before?.applications[id], given.listen, taken);
    const names = [...app.listen, ...app.ports];
    const addresses = Object.fromEntries(names.map((name) => [name, listen[name]!]));
    const [first] = app.listen;
    const all = { ...limits, ...given.limits };
    for (const line of grantLines(id, app, { listen: addresses, limits: all, ...(app.of && { of: app.of }) }))
      tell(line);
    const socket = first === undefined ? undefined : ([first, addresses[first]!] as const);
    found.push({ id, of: app.of, socket, addresses, limits: all, sockets: app.listen.length });
  }
  return found;
}
