import { isIPv4 } from "node:net";
import * as z from "zod";
import { pluginId } from "../identifiers.ts";
import { later } from "../later.ts";
import { appLimits } from "./app-limits.ts";
import { socketName } from "./application.ts";
import { canonicalAddress, hostAndPort } from "./socket-address.ts";

const NO_ADDRESS = "must be a port from 1 to 65535, or an address such as 127.0.0.1:3000 or [::1]:3000";

/** Address of a socket: `127.0.0.1:3000`, `[::1]:3000`, or a port alone, which is one of 127.0.0.1. */
const address = later(() =>
  z
    .union(
      [
        z.int().min(1).max(65_535),
        z
          .string()
          .max(64)
          .regex(/^(?:\[[0-9a-f:.]+\]|[\d.]+):[1-9]\d{0,4}$/i, NO_ADDRESS),
      ],
      {
        error: NO_ADDRESS,
      },
    )
    .transform((value, context) => {
      const found = canonicalAddress(String(value));
      if (found !== undefined) return found;
      context.addIssue({ code: "custom", message: NO_ADDRESS });
      return z.NEVER;
    }),
);

/** Standing grant of the operator for one application. */
const grant = later(() =>
  z.strictObject({
    /** User who runs it, where the supervisor is root. */
    user: z
      .string()
      .regex(/^[a-z_][a-z0-9_-]{0,31}\$?$/, "must be a user name")
      .optional(),
    /** Lets `sealift app serve` run it as its own user, who can read the agent's files. */
    same_user: z.boolean().default(false),
    /** The user runs nothing else: without control groups, its processes are told by it (since 0.3.0). */
    alone: z.boolean().default(false),
    /** Application whose user, settings and data it shares; it has no user of its own (since 0.3.0). */
    of: pluginId.optional(),
    /** Name in `listen` or `ports` of `app.yaml` → its address. */
    listen: z.record(socketName, address).default({}),
    /** Limits that the operator sets (since 0.3.0). */
    limits: appLimits.optional(),
  }),
);

/**
 * `applications.yaml`: standing grants of an operator (docs/contract/application.md). An application without one is
 * held. No address stands twice, nor one that another covers.
 */
export const applicationsFile = later(() =>
  z
    .strictObject({
      /** Program that runs the applications of this root: systemd's units, or `sealift app serve`. */
      supervisor: z.enum(["systemd", "serve"]),
      applications: z.record(pluginId, grant),
    })
    .superRefine(({ applications }, context) => {
      for (const [id, { of, user, same_user: sameUser, alone }] of Object.entries(applications)) {
        if (of === undefined) continue;
        const fault = (key: string, message: string): void =>
          context.addIssue({ code: "custom", path: ["applications", id, key], message });
        if (of === id) fault("of", "is the application itself");
        else if (applications[of]?.of !== undefined) fault("of", `is ${of}, which is of ${applications[of].of} itself`);
        if (user !== undefined || sameUser || alone) fault("of", `gives it the user of ${of}: it has none of its own`);
      }
      const held: { at: string; id: string }[] = [];
      for (const [id, { listen }] of Object.entries(applications))
        for (const [name, at] of Object.entries(listen)) {
          const holder = held.find((other) => areOneAddress(other.at, at));
          if (holder !== undefined)
            context.addIssue({
              code: "custom",
              path: ["applications", id, "listen", name],
              message: `is ${at}, which ${holder.id} has${holder.at === at ? "" : ` by ${holder.at}`}`,
            });
          held.push({ at, id });
        }
    }),
);
export type ApplicationsFile = z.output<typeof applicationsFile>;
export type ApplicationGrant = z.output<typeof grant>;

/** Addresses by which a program listens on all of its kind. `::` takes IPv4, too, unless the host says otherwise. */
const EVERY: Readonly<Record<string, (host: string) => boolean>> = {
  "0.0.0.0": isIPv4,
  "::": () => true,
};

/** Tells whether one of two canonical addresses covers the other one: only one program can have both. */
export function areOneAddress(first: string, second: string): boolean {
  const [a, b] = [hostAndPort(first), hostAndPort(second)];
  if (a.port !== b.port) return false;
  return a.host === b.host || EVERY[a.host]?.(b.host) === true || EVERY[b.host]?.(a.host) === true;
}
