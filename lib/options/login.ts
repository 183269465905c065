import { connection, network } from "./connection.ts";
import { text } from "./kinds.ts";
import { group, optional } from "./option.ts";

/** Options of `login`. */
export const login = {
  ...group("Login", { name: text({ metavar: "CONTEXT", help: "Name of the context", defaultText: "the hub's host" }) }),
  apiKey: optional(connection.apiKey),
  timeoutMs: connection.timeoutMs,
  caFile: network.caFile,
};
