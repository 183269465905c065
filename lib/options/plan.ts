import { connection, hubIfKnown } from "./connection.ts";
import { choice, flag, path, text } from "./kinds.ts";
import { group, optional } from "./option.ts";
import { deployed } from "./sources.ts";

/** Options of `plan init`. */
export const plan = {
  ...group("Plan", {
    kind: choice(["plugin", "service", "project"], { help: "What NAME is", default: "plugin" }),
    supervised: flag({ help: "Restart and check it after the switch" }),
    out: path({ alias: "--output", help: "File to write", default: "install.yaml" }),
  }),
  hubUrl: hubIfKnown,
  apiKey: optional(connection.apiKey),
  timeoutMs: connection.timeoutMs,
};

/** Options of `plan validate`. */
export const planCheck = group("Plan", {
  slug: text({ metavar: "SLUG", help: "The plugin or service that it is for" }),
  kind: deployed.kind,
});
