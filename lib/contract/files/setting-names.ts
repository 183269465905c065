import * as z from "zod";
import { envName } from "../identifiers.ts";
import { later } from "../later.ts";
import { PLAIN_LINE } from "./application-paths.ts";
import { environmentNames } from "./manifest.ts";
import { OF_THE_SHELL } from "./shell-names.ts";

/** Names that the launch gives itself: a default of a version would count nowhere. */
const OF_THE_LAUNCH = new Set(["PATH", "NODE_ENV", "HOME", "USER", "LOGNAME", "SHELL"]);
/** Names of addresses and sockets, which the operator gives, and our own. */
const OF_THE_HOST = /^(?:PORT|HOST)(?:_|$)|^(?:LISTEN_|SEALIFT_)/;

const MAX_NAMES = 256;
const MAX_VALUE = 4096;

/** Default of a version for a variable. */
const value = later(() => z.string().max(MAX_VALUE).regex(PLAIN_LINE, "must be one line, without control characters"));

/** Names of the settings that an application reads, and the version's defaults for them. */
export const settingNames = later(() =>
  environmentNames
    .extend({
      /** Defaults of the version, of the lowest rank: a setting of the host wins (since 0.3.0). */
      values: z.record(envName, value).default({}),
    })
    .superRefine(({ required, optional, values }, context) => {
      const fault = (message: string, ...path: string[]): void => context.addIssue({ code: "custom", path, message });
      const given = Object.keys(values);
      const names = [...required, ...optional, ...given.filter((name) => !optional.includes(name))];
      if (names.some((name) => name.length > 128)) fault("has a name of more than 128 characters");
      if (names.length > MAX_NAMES) fault(`must have at most ${MAX_NAMES} names`);
      for (const name of given)
        if (OF_THE_LAUNCH.has(name) || OF_THE_HOST.test(name) || OF_THE_SHELL.has(name))
          fault("is a variable that the host gives, or that a shell keeps for itself", "values", name);
        else if (required.includes(name)) fault("is required, and a name with a default is optional", "values", name);
    }),
);
