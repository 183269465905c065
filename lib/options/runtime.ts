import { parseListen } from "./addresses.ts";
import { LOG_LEVELS } from "./common.ts";
import { choice, flag, list, parsed, path, text } from "./kinds.ts";
import { group } from "./option.ts";
import { platform } from "./platform.ts";

/** Options of the runtime as a service. */
export const runtime = group("Server", {
  integration: path({ flag: "--config", help: "The project's configuration", default: "integration.yaml" }),
  listen: parsed(
    {
      metavar: "HOST:PORT",
      help: "Address; port 0 takes any free one",
      defaultText: "app.server of the configuration, 127.0.0.1:8000",
    },
    parseListen,
  ),
  pluginsDir: path({ help: "Folder with the plugins", defaultText: "plugins.directory of the configuration" }),
  logLevel: choice(LOG_LEVELS, {
    help: "Least level that is logged",
    defaultText: "observability.logging.level; with --json silent",
  }),
});

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`is not JSON: ${text}`);
  }
}

/** Options of `plugin init`. */
export const scaffold = group("Plugin", {
  language: choice(["typescript", "javascript"], { help: "Language of the entry point", default: "typescript" }),
  mode: choice(["sandboxed", "trusted"], { help: "How the runtime runs the plugin", default: "sandboxed" }),
  directory: path({ help: "Folder to write to", defaultText: "./NAME" }),
});

/** Names of files that archives leave out, and an author wants in them. */
const include = list({ metavar: "NAME", help: "Bring back what is never packed; may be repeated" }, (name) => name);

/** Options of `plugin pack`. */
export const packing = group("Archive", {
  output: path({
    flag: "--out",
    alias: "--output",
    metavar: "FILE.zip",
    help: "Archive to write",
    defaultText: "NAME-VERSION.zip",
  }),
  include,
  withDependencies: flag({ help: "Pack the installed npm packages of the lock file" }),
  platform,
});

/** Options of `plugin dev`. */
export const development = group("Development", {
  listen: parsed(
    { metavar: "HOST:PORT", help: "Address of the runtime; port 0 takes any free one", default: "127.0.0.1:0" },
    parseListen,
  ),
  inspect: parsed({ metavar: "HOST:PORT", help: "Open Node's inspector there" }, parseListen),
  integration: path({ help: "integration.yaml whose services and grants the plugin gets" }),
  logLevel: choice(LOG_LEVELS, { help: "Least level that is logged", default: "info" }),
});

/** Options of `plugin test`. */
export const trial = group("Trial", {
  call: text({ metavar: "ACTION", help: "Make one call of this action" }),
  payload: parsed({ metavar: "JSON", help: "Payload of --call", default: "{}" }, jsonOf),
  watch: flag({ name: "watch-files", flag: "--watch", help: "Run again whenever a file is saved" }),
  integration: path({ help: "integration.yaml whose services and grants the plugin gets" }),
  include,
  logLevel: choice(LOG_LEVELS, { help: "Least level that is logged", default: "warn" }),
});

/** Options of `plugin audit`. */
export const audit = group("Audit", {
  integration: path({ help: "integration.yaml whose services the plugin gets" }),
  asRoot: flag({ help: "Run the plugin although you are root" }),
  include,
  logLevel: choice(LOG_LEVELS, { help: "Least level that is logged", default: "warn" }),
});

/** Options of `plugin rights`. */
export const rights = group("Comparison", {
  against: path({ metavar: "FOLDER", help: "Show what is asked for beyond this release" }),
});
