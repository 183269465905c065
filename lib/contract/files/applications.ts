import * as z from "zod";
import { pluginId } from "../identifiers.ts";
import { socketName } from "./application.ts";

/** Address of a socket: `127.0.0.1:3000`, `[::1]:3000`, or a port alone, which is one of 127.0.0.1. */
const address = z
  .union([z.int().min(1).max(65_535), z.string().regex(/^(?:\[[0-9a-f:.]+\]|\d{1,3}(?:\.\d{1,3}){3}):\d{1,5}$/i)], {
    error: "must be a port, or an address such as 127.0.0.1:3000 or [::1]:3000",
  })
  .transform((value) => (typeof value === "number" ? `127.0.0.1:${value}` : value))
  .refine((text) => {
    const port = Number(text.slice(text.lastIndexOf(":") + 1));
    return port >= 1 && port <= 65_535;
  }, "must have a port from 1 to 65535");

/** Standing grant of the operator for one application. */
const grant = z.strictObject({
  /** User who runs it, where the supervisor is root. */
  user: z
    .string()
    .regex(/^[a-z_][a-z0-9_-]{0,31}\$?$/, "must be a user name")
    .optional(),
  /** Lets `sealift app serve` run it as its own user, who can read the agent's files. */
  same_user: z.boolean().default(false),
  /** The user runs nothing else: without control groups, its processes are told by it (since 0.3.0). */
  alone: z.boolean().default(false),
  /** Name in `listen` or `ports` of `app.yaml` → its address. */
  listen: z.record(socketName, address).default({}),
});

/**
 * `applications.yaml`: standing grants of an operator (docs/contract/application.md). An application without one is
 * held. No address stands twice.
 */
export const applicationsFile = z
  .strictObject({
    /** Program that runs the applications of this root: systemd's units, or `sealift app serve`. */
    supervisor: z.enum(["systemd", "serve"]),
    applications: z.record(pluginId, grant),
  })
  .superRefine(({ applications }, context) => {
    const holders = new Map<string, string>();
    for (const [id, { listen }] of Object.entries(applications))
      for (const [name, at] of Object.entries(listen)) {
        const holder = holders.get(at);
        if (holder !== undefined)
          context.addIssue({
            code: "custom",
            path: ["applications", id, "listen", name],
            message: `is ${at}, which ${holder} has`,
          });
        holders.set(at, id);
      }
  });
export type ApplicationsFile = z.output<typeof applicationsFile>;
export type ApplicationGrant = z.output<typeof grant>;

/** Returns host and port of an address in `applications.yaml`, without the brackets of IPv6. */
export function hostAndPort(at: string): { host: string; port: number } {
  const colon = at.lastIndexOf(":");
  return { host: at.slice(0, colon).replace(/^\[|\]$/g, ""), port: Number(at.slice(colon + 1)) };
}
