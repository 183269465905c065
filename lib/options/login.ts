import { connection, network } from "./connection.ts";
import { flag, text } from "./kinds.ts";
import { group, optional } from "./option.ts";

/** Options of `login`. */
export const login = {
  ...group("Login", { name: text({ metavar: "CONTEXT", help: "Name of the context", defaultText: "the hub's host" }) }),
  apiKey: optional(connection.apiKey),
  timeoutMs: connection.timeoutMs,
  caFile: network.caFile,
};

/** Options of `logout`. */
export const logout = group("Logout", { dryRun: flag({ help: "Only tell what would go" }) });

/** Options of `trust-folder`. */
export const folderTrust = group("Trust", {
  list: flag({ name: "trust-list", flag: "--list", help: "List the files that are trusted, with their digests" }),
  remove: flag({ name: "trust-remove", flag: "--remove", help: "Stop trusting the folder" }),
  dryRun: flag({ help: "With --remove: only tell what would go" }),
});
