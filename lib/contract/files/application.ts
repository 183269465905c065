import * as z from "zod";
import { pathBelow } from "../identifiers.ts";
import { environmentNames } from "./manifest.ts";
import { seconds } from "./seconds.ts";

/** Folder of a project that holds its applications, one folder each. */
export const APPLICATIONS_FOLDER = "apps";
/** Descriptor of an application, in its folder. */
export const APPLICATION_FILE = "app.yaml";

const insideTheFolder = pathBelow("must be a path inside the application's folder");

/** Program of a command: a name on a fixed PATH, or a file of the application's folder (with a `/`). */
const program = pathBelow("must be a program's name, or a path inside the application's folder").refine(
  (text) => !/\s/.test(text),
  "must be one word: write a list, such as [node, server.js]; no shell reads it",
);

/** Program and its arguments, which no shell reads. */
const command = z.tuple(
  [program],
  z
    .string()
    .max(4096)
    .regex(/^[^\0\n]*$/, "must be one line"),
);

/** Name of a socket that the host keeps and hands over. */
export const socketName = z
  .string()
  .regex(/^[a-z][a-z0-9-]{0,31}$/, "must be 1 to 32 of a-z, 0-9 and -, starting with a letter");

const socketNames = z
  .array(socketName)
  .max(16)
  .refine((names) => new Set(names).size === names.length, "names a socket twice");

const health = z.strictObject({
  /** Path that answers 2xx or 3xx when the application works. Without it, running for `stays_up` is enough. */
  http: z
    .string()
    .max(1024)
    .regex(/^\/[\x21-\x7e]*$/, "must be a path that begins with /, not a URL: the host asks 127.0.0.1")
    .optional(),
  /** Socket that answers, by its name in `listen`. Default: the only one. */
  port: socketName.optional(),
  /** Time until the first healthy answer, in seconds. */
  within: seconds.default(30),
  /** Time without a restart or an unhealthy answer that follows it, in seconds. */
  stays_up: seconds.default(10),
});

/**
 * `app.yaml`: how a host runs an application of a project (docs/contract/application.md). Paths are relative to its
 * folder.
 */
export const application = z
  .strictObject({
    command,
    /** Programs that the host must have, each with a range of versions as npm writes them. */
    needs: z.record(z.string().regex(/^[a-z0-9][a-z0-9._+-]{0,63}$/i), z.string().min(1).max(128)).default({}),
    listen: socketNames.default([]),
    health: health.prefault({}),
    /** Runs after the old process has ended and before the new one starts. Its failure sends the deployment back. */
    migrate: command.optional(),
    /** Folder that belongs to the host and outlives releases. */
    data: insideTheFolder.optional(),
    environment: environmentNames.prefault({}),
    stop: z
      .strictObject({
        signal: z.enum(["SIGTERM", "SIGINT", "SIGQUIT", "SIGHUP", "SIGUSR1", "SIGUSR2"]).default("SIGTERM"),
        /** Time to end after the signal, in seconds; then it is killed. */
        within: seconds.default(20),
      })
      .prefault({}),
  })
  .superRefine(({ listen, health: { http, port } }, context) => {
    const fault = (message: string) => context.addIssue({ code: "custom", path: ["health", "port"], message });
    if (port !== undefined && !listen.includes(port)) fault(`is ${port}, which listen does not name`);
    if (http !== undefined && port === undefined && listen.length !== 1)
      fault("must name the socket of listen that answers");
  });
export type Application = z.output<typeof application>;

/** Returns the name of the socket on which an application answers its health path; undefined without such a path. */
export const healthSocket = ({ listen, health: { http, port } }: Application): string | undefined =>
  http === undefined ? undefined : (port ?? listen[0]);
