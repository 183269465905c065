import { connection } from "./connection.ts";
import { duration, flag, text } from "./kinds.ts";
import { group, required, type Values } from "./option.ts";

/** Options of the commands for versions that wait for approval, and of publishing them. */

/** Option of the publishing commands. */
export const stage = flag({ help: "Only stage it: another person approves" });

/** Options of `stage reject`. */
export const rejection = {
  ...group("Version", {
    reason: required(text({ metavar: "TEXT", help: "Why, for its publisher and the audit log" })),
  }),
  ...connection,
};

/** Options of `stage wait`, where `--timeout` limits the whole wait. */
export const stageWait = {
  ...group("Wait", {
    withinMs: duration({
      name: "stage-timeout",
      flag: "--timeout",
      help: "How long to wait for the approval",
      default: 86_400_000,
    }),
    intervalMs: duration({
      name: "stage-interval",
      flag: "--interval",
      help: "Time between two looks",
      default: 5000,
      minMs: 100,
    }),
  }),
  hubUrl: connection.hubUrl,
  apiKey: connection.apiKey,
};

const HELP = "Stage new versions, or not: --no-require-approval";
/** Yes or no, without a default: one of them must be given. */
const eitherWay = required({ ...flag({ help: HELP }), default: undefined });

/** Option of `hub serve` for staging. */
export const stagingServing = group("Server", {
  requireApproval: flag({ help: "Have new versions of every target approved" }),
});

/** Returns the settings of a hub's staging. */
export const stagingServingOf = ({ requireApproval }: Values<typeof stagingServing>) =>
  requireApproval ? { requireApproval } : {};

/** Options of `project update`. */
export const projectUpdate = { ...group("Project", { requireApproval: eitherWay }), ...connection };
