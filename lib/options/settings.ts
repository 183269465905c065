import { agent } from "./agent.ts";
import { connection } from "./connection.ts";
import { duration, flag, list, path } from "./kinds.ts";
import { group, optional, required } from "./option.ts";

/** Options of the commands about settings of a fleet. */

/** Key of the operator, also of `host invite`. */
export const operatorKey = path({
  name: "operator-key",
  metavar: "FILE",
  help: "The operator's private key (`sealift signer create`)",
});

const file = path({ name: "fleet", metavar: "FILE", help: "The fleet file", default: "fleet.yaml" });
const dryRun = flag({ help: "Show what would change, and change nothing" });
const acceptNew = flag({ help: "Take new hosts into fleet.lock without asking" });
const newOperator = flag({ help: "Take over the fleet.lock of another operator's key" });

/** Options of `settings apply`. */
export const settingsApply = {
  ...group("Settings", {
    operatorKey: required(operatorKey),
    only: list({ metavar: "HOST", help: "Only this host; may be repeated", defaultText: "all" }, String),
    acceptNew,
    allAtOnce: flag({ help: "One wave with all hosts, and no stop before its end" }),
    waitMs: duration({ name: "wait", help: "How long to wait for the hosts of a wave", default: 600_000 }),
    noWait: flag({ help: "Upload for all hosts, and wait for none" }),
    replace: flag({ help: "Replace settings that another program has uploaded" }),
    newOperator,
    dryRun,
  }),
  ...connection,
};

/** Options of `settings show`. */
export const settingsShow = {
  ...group("Settings", { fleet: file, operatorKey: optional(operatorKey) }),
  ...connection,
};

/** Options of `settings accept`. */
export const settingsAccept = {
  ...group("Settings", {
    fleet: file,
    labels: { ...agent.labels, help: "Label of the host; may be repeated", defaultText: "those of its former key" },
    dryRun,
  }),
  ...connection,
};

/** Options of `settings remove`. */
export const settingsRemove = { ...group("Settings", { fleet: file, dryRun }), ...connection };
