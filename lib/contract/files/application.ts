import validRange from "semver/ranges/valid.js";
import * as z from "zod";
import { later } from "../later.ts";
import { addressNames } from "./address-variables.ts";
import { appLimits } from "./app-limits.ts";
import { kindFaults, kindKeys } from "./application-kinds.ts";
import { dataFolder, pathInside, PLAIN_LINE } from "./application-paths.ts";
import { HEALTH_SECONDS } from "./health-command.ts";
import { seconds } from "./seconds.ts";
import { settingNames } from "./setting-names.ts";

/** Program of a command: a name on a fixed PATH, or a file of the application's folder (with a `/`). */
const program = later(() =>
  pathInside("must be a program's name, or a path inside the application's folder").refine(
    (text) => !/\s/.test(text),
    "must be one word: write a list, such as [node, server.js]; no shell reads it",
  ),
);

/** Most words of a command. */
const MAX_WORDS = 256;

/** Program and its arguments, which no shell reads. */
const command = later(() =>
  z
    .tuple([program], z.string().max(4096).regex(PLAIN_LINE, "must be one line, without control characters"))
    .refine((words) => words.length <= MAX_WORDS, `must have at most ${MAX_WORDS} words`),
);

/** Range of versions as npm writes them. */
const versionRange = later(() =>
  z
    .string()
    .max(128)
    .refine(
      (text) => text.trim() !== "" && PLAIN_LINE.test(text) && validRange(text) !== null,
      "must be a range of versions such as >=22 or ^3.11",
    ),
);

/** Name of an address that the operator gives an application. */
export const socketName = later(() =>
  z.string().regex(/^[a-z][a-z0-9-]{0,31}$/, "must be 1 to 32 of a-z, 0-9 and -, starting with a letter"),
);

const socketNames = later(() => z.array(socketName).max(16));

const health = later(() =>
  z.strictObject({
    /** Path that answers 2xx or 3xx when the application works. Without it, running for `stays_up` is enough. */
    http: z
      .string()
      .max(1024)
      .regex(/^\/[\x21-\x7e]*$/, "must be a path that begins with /, not a URL: the host asks 127.0.0.1")
      .optional(),
    /** Program that ends with 0 when the application works, in place of `http`: for workers (since 0.3.0). */
    command: command.optional(),
    /** Address that answers, by its name in `listen` or `ports`. Default: the only one. */
    port: socketName.optional(),
    /** Time until the first healthy answer, in seconds. */
    within: seconds.default(HEALTH_SECONDS.within),
    /** Time without a restart or an unhealthy answer that follows it, in seconds. */
    stays_up: seconds.default(HEALTH_SECONDS.stays_up),
  }),
);

/**
 * `app.yaml`: how a host runs an application of a project (docs/contract/application.md). Paths are relative to its
 * folder.
 */
export const application = later(() =>
  z
    .strictObject({
      command,
      /** Programs that the host must have, each with a range of versions as npm writes them. */
      needs: z
        .record(
          z
            .string()
            .regex(
              /^[a-z0-9][a-z0-9._+-]{0,63}$/i,
              "must be the name of a program, 1 to 64 of a-z, 0-9, ., _, + and -",
            ),
          versionRange,
        )
        .refine((needs) => Object.keys(needs).length <= 64, "must have at most 64 programs")
        .default({}),
      /** Sockets that the host keeps open and hands over, from descriptor 3 on: a restart refuses no connection. */
      listen: socketNames.default([]),
      /** Addresses on which the application listens by itself, as `PORT` and `HOST` tell it. */
      ports: socketNames.default([]),
      health: health.prefault({}),
      /** Runs after the old process has ended and before the new one starts. Its failure sends the deployment back. */
      migrate: command.optional(),
      /** Folder that belongs to the host and outlives releases. */
      data: dataFolder.optional(),
      environment: settingNames.prefault({}),
      /** Limits under which it has to have room, which the operator may refuse (since 0.3.0). */
      limits: appLimits.optional(),
      stop: z
        .strictObject({
          signal: z.enum(["SIGTERM", "SIGINT", "SIGQUIT", "SIGHUP", "SIGUSR1", "SIGUSR2"]).default("SIGTERM"),
          /** Time to end after the signal, in seconds; then it is killed. */
          within: seconds.default(20),
        })
        .prefault({}),
      ...kindKeys,
    })
    .superRefine((app, context) => {
      const { http, port } = app.health;
      const names = addressNames(app);
      const fault = (path: string[], message: string) => context.addIssue({ code: "custom", path, message });
      const twice = names.find((name, at) => names.indexOf(name) !== at);
      if (twice !== undefined) fault(["listen"], `names ${twice}, which it or ports names, too`);
      if (port !== undefined && !names.includes(port))
        fault(["health", "port"], `is ${port}, which neither listen nor ports names`);
      if (http !== undefined && app.health.command !== undefined)
        fault(["health", "command"], "is another way to ask than http: keep one of them");
      if (http !== undefined && port === undefined && names.length !== 1)
        fault(["health", "port"], "must name the address of listen or ports that answers");
      for (const [key, message] of kindFaults(app)) fault([key], message);
    }),
);
export type Application = z.output<typeof application>;
